// What-if: facts that are left out of the history or added to it, each with undo, and a form to add one.

import { complete } from "./combobox.js";
import { $, dateWords, el } from "./elements.js";
import { askAboutNew, refusal, say, unknownEntities, useButton } from "./forms.js";

const PARTS = ["subject", "relation", "object", "time"];
const line = ({ subject, relation, object, time }) => `${subject} ${relation} ${object}, ${time === undefined ? "all such facts" : dateWords(time)}`;
const plain = (fact) => Object.fromEntries(PARTS.map((part) => [part, fact[part]]));
const same = (one, other) => PARTS.every((part) => String(one[part]) === String(other[part]));

export const isChanged = (state) => state.without.length + state.with.length > 0;
export const unchanged = (state) => ({ ...state, without: [], with: [] });

// The state without some facts; one without a time means all such facts. A fact that was only supposed is no longer supposed.
export const leaveOut = (state, facts) => facts.map(plain).reduce((changed, fact) => {
  if (changed.with.some((one) => same(one, fact))) return { ...changed, with: changed.with.filter((one) => !same(one, fact)) };
  return changed.without.some((one) => same(one, fact)) ? changed : { ...changed, without: [...changed.without, fact] };
}, state);

// The list of changes above the answers, in the order in which they were made.
export function showChanges(state, go) {
  const item = (word, undo, key, fact, i) => el("li", {}, el("span", {}, el("strong", {}, word), ` ${line(fact)}`), el("button", {
    type: "button", class: "quiet", "data-key": `${word} ${line(fact)}`, "aria-label": `${undo}: ${line(fact)}`,
    click: () => go({ ...state, [key]: state[key].filter((_, j) => j !== i) }),
  }, undo));
  const items = [
    ...state.without.map((fact, i) => item("Without:", "Put it back", "without", fact, i)),
    ...state.with.map((fact, i) => item("With:", "Take it away", "with", fact, i)),
  ];
  const all = el("button", { type: "button", class: "quiet", "data-key": "all", click: () => go(unchanged(state)) }, "Undo all changes");
  $("changes").replaceChildren(...(items.length ? [el("ul", {}, ...items)] : []), ...(items.length > 1 ? [el("p", {}, all)] : []));
}

// The form is part of the document, so what is typed in it survives new answers.
let current = null;

// `check` asks the changed question first: a misspelt fact must not replace what is shown by an error.
export function showSupposing(state, go, check) {
  current = { state, go, check };
  $("supposing").hidden = false;
  $("suppose-said").replaceChildren();
  if (!$("suppose-subject").value) $("suppose-subject").value = state.subject || state.object;
}

export function hideChanges() {
  $("supposing").hidden = true;
  $("changes").replaceChildren();
}

async function suppose(fact, { sure = false } = {}) {
  const { state, go, check } = current, here = location.href;
  const next = { ...state, with: [...state.with, fact] };
  $("suppose-button").disabled = true;
  try {
    const unknown = sure ? [] : await unknownEntities(fact);
    if (!unknown.length) await check(next);
    if (location.href !== here) return; // the user asked something else meanwhile
    if (unknown.length) {
      return askAboutNew("suppose", unknown, ["Suppose a new entity", "Suppose new entities"], () => suppose(fact, { sure: true }));
    }
    go(next);
    $("suppose-object").value = "";
    $("suppose-object").focus();
  } catch (error) {
    if (location.href === here) showRefusal(error);
  } finally {
    $("suppose-button").disabled = false;
  }
}

function showRefusal(error) {
  const use = (name) => { $("suppose-relation").value = name; say("suppose-said"); $("suppose-button").focus(); };
  say("suppose-said", refusal([error.message, ...(error.details ?? [])], ...(error.suggestions ?? []).map((name) => useButton(name, use))));
}

complete("suppose-subject", ["entity"]);
complete("suppose-relation", ["relation"]);
complete("suppose-object", ["entity"]);
$("suppose").addEventListener("submit", (event) => {
  event.preventDefault();
  const fact = Object.fromEntries(PARTS.map((part) => [part, $(`suppose-${part}`).value.trim()]));
  fact.time ||= $("suppose-time").placeholder; // the day of the last known fact
  if (!current.state.with.some((one) => same(one, fact))) suppose(fact);
});
