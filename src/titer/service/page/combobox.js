// A text field that completes names: a list of matching names, each with the number of its facts.
// With several kinds of names, those of relations say so.

import { call } from "./api.js";
import { $, count, el } from "./elements.js";

const LIMIT = 10, MIN_RELATIONS = 3;

async function namesOf(kind, typed) {
  const { names } = await call(`/v1/names?kind=${kind}&limit=${LIMIT}&q=${encodeURIComponent(typed)}`);
  return names.map((one) => ({ ...one, kind }));
}

// Names of one kind, or entities first and then relations.
async function namesLike(kinds, typed) {
  const [first, rest = []] = await Promise.all(kinds.map((kind) => namesOf(kind, typed)));
  return [...first.slice(0, LIMIT - Math.min(MIN_RELATIONS, rest.length)), ...rest].slice(0, LIMIT);
}

// What is chosen is written into the field, unless `pick` is given. Returns a function that finds what is typed.
export function complete(id, kinds, pick) {
  const input = $(id);
  const list = el("ul", { class: "options", role: "listbox", id: `${id}-options`, hidden: "", "aria-label": "Names" });
  const about = ({ kind, facts }) => `${kinds.length > 1 && kind === "relation" ? "relation, " : ""}${count(facts, "fact")}`;
  let latest = 0, active = -1, shown = [];
  for (const [name, value] of Object.entries({
    role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id,
    autocomplete: "off", spellcheck: "false",
  })) input.setAttribute(name, value);
  input.after(list);

  const close = () => {
    latest += 1; // a response that is still under way must not open the list again
    active = -1;
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };

  const choose = (one) => {
    close();
    if (pick) return pick(one);
    const changed = input.value !== one.name;
    input.value = one.name;
    if (changed) input.dispatchEvent(new Event("change", { bubbles: true }));
  };

  const move = (step) => {
    const options = [...list.children];
    if (!options.length) return;
    active = (active + step + options.length + (active < 0 && step < 0 ? 1 : 0)) % options.length;
    options.forEach((option, i) => option.setAttribute("aria-selected", String(i === active)));
    options[active].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", options[active].id);
  };

  // Only the response to what was typed last is shown.
  const ask = async () => {
    const mine = ++latest;
    let names = [];
    try {
      names = await namesLike(kinds, input.value);
    } catch { /* asking the question reports the problem */ }
    if (mine !== latest || document.activeElement !== input) return;
    shown = names;
    list.replaceChildren(...names.map((one, i) => el("li", {
      role: "option", id: `${id}-option-${i}`, "aria-selected": "false", "aria-label": `${one.name}, ${about(one)}`,
      mousedown: (event) => event.preventDefault(), // the field keeps the focus
      click: () => choose(one),
    }, el("span", {}, one.name), el("span", { class: "number" }, about(one)))));
    active = -1;
    input.removeAttribute("aria-activedescendant");
    list.hidden = !names.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
  };

  input.addEventListener("input", ask);
  input.addEventListener("click", () => list.hidden && ask()); // the most frequent names before anything is typed
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) ask(); else move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && !list.hidden && active >= 0) {
      event.preventDefault();
      choose(shown[active]);
    } else if (event.key === "Enter") {
      close();
    } else if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      close();
    }
  });
  return () => namesLike(kinds, input.value.trim());
}
