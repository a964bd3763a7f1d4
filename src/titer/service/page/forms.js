// Messages below a form about what was typed into it, such as names that are not known.

import { ServiceError, call } from "./api.js";
import { $, el } from "./elements.js";
import { address } from "./navigation.js";

export const button = (words, click) => el("button", { type: "button", click }, words);
export const useButton = (name, use) => button(`Use “${name}”`, () => use(name));

// Shown below the form, and announced, unless it is an alert, which a browser announces itself.
export function say(id, ...parts) {
  $(id).replaceChildren(...parts);
  const sentences = [...$(id).querySelectorAll("p")].filter((one) => !one.closest("[role=alert]"));
  $("status").textContent = sentences.map((one) => one.textContent).join(" ");
}

export const refusal = (lines, ...buttons) =>
  el("div", { class: "question-box bad-box", role: "alert" }, ...lines.map((line) => el("p", {}, line)), ...buttons);

// Subject and object of a fact if no fact has them, each with similar names. A new entity may be meant, or a slip.
export async function unknownEntities(fact) {
  const found = await Promise.all(["subject", "object"].map(async (part) => {
    const name = fact[part];
    try {
      const known = await call(address("/v1/entity", { name, limit: "1" }));
      return known.name === name ? null : { part, name, names: [known.name] }; // it was completed
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "unknown_name") throw error;
      return { part, name, names: error.suggestions };
    }
  }));
  return found.filter(Boolean);
}

// Asks whether new entities are meant; `prefix` begins the ids of the fields.
export function askAboutNew(prefix, unknown, [one, several], proceed) {
  const use = (part) => (name) => {
    $(`${prefix}-${part}`).value = name;
    say(`${prefix}-said`);
    $(`${prefix}-button`).focus();
  };
  say(`${prefix}-said`, el("div", { class: "question-box" }, ...unknown.flatMap(({ part, name, names }) =>
    [el("p", {}, `“${name}” is not known yet.`), ...names.map((similar) => useButton(similar, use(part)))]),
  button(unknown.length > 1 ? several : one, proceed)));
  $(`${prefix}-said`).querySelector("button").focus();
}
