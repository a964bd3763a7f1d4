// Question: a question in the address, its answers, the evidence for one of them, and what-if.

import { showAnswers } from "./answers.js";
import { call } from "./api.js";
import { hideChanges, isChanged, leaveOut, showChanges, showSupposing } from "./changes.js";
import { complete } from "./combobox.js";
import { $, el } from "./elements.js";
import { showEvidence } from "./evidence.js";
import { address, navigate } from "./navigation.js";
import { overview, usualWindow } from "./overview.js";
import { FIELDS, question, readState, sameQuestion, stateAddress } from "./state.js";
import { forget, showWhether } from "./whether.js";

const TOP = 10, EVIDENCE = 8, EXAMPLES = 4, LIKELY = 0.3;
let shown = null; // the question on the page and its answers, evidence included
let next = null; // the same of a question that is about to be shown

export const title = () => "Ask a question";

const go = (state) => navigate(stateAddress(state));

export function clear() {
  shown = next = null;
  hideChanges();
  for (const id of ["result", "evidence", "whether"]) $(id).hidden = true;
}

// Answers with their evidence. A question that is shown already is not asked again.
async function answersTo(state) {
  const same = [shown, next].find((one) => one && sameQuestion(one.state, state));
  if (same) return same.found;
  const request = { ...question(state), top: TOP, explain: EVIDENCE };
  return isChanged(state)
    ? call("/v1/what-if", { ...request, without: state.without, with: state.with })
    : { after: await call("/v1/forecast", request), moves: [] };
}

// Asks a question without showing it, so that one without an answer does not replace what is shown.
async function check(state) {
  if (!state.subject || !state.object) next = { state, found: await answersTo(state) };
  else {
    const { at, ...asked } = question(state);
    await call("/v1/when", { ...asked, ...(at && { from: at }), without: state.without, with: state.with });
  }
}

export async function show(isCurrent) {
  const state = readState(), held = focused(), selected = shown?.state.answer;
  for (const key of FIELDS) $(key).value = state[key];
  $("examples").hidden = Boolean(state.relation);
  if (!state.relation) {
    clear();
    document.title = `${title()} – titer`;
    return showExamples(isCurrent);
  }
  if (state.subject && state.object) { // all is given, so the question is whether and when
    for (const id of ["result", "evidence"]) $(id).hidden = true;
    await showWhether(state, go, isCurrent);
  } else {
    $("whether").hidden = true;
    const found = await answersTo(state);
    if (!isCurrent()) return;
    shown = { state, found };
    next = null;
    showAnswers(found, state, go);
    await explain(found.after, state, isCurrent);
  }
  if (!isCurrent()) return;
  showChanges(state, go);
  showSupposing(state, go, check);
  refocus(held);
  if (shown && state.answer && selected !== undefined && selected !== state.answer) reveal($("explained"));
}

// On a small screen the evidence is below the answers: selecting one must change something in view.
function reveal(heading) {
  const { top } = heading.getBoundingClientRect();
  if (top > 0.75 * innerHeight) heading.scrollIntoView({ block: "start" });
}

async function explain(forecast, state, isCurrent) {
  $("evidence").hidden = true;
  if (!state.answer) return;
  // Only an answer that is not among the best, as a link may name, needs a request of its own.
  const answer = forecast.answers.find((one) => one.entity === state.answer) ?? await call("/v1/explain",
    { ...question(state), answer: state.answer, limit: EVIDENCE, without: state.without, with: state.with });
  await showEvidence(forecast, answer, (facts) => go(leaveOut(state, facts)), isCurrent);
}

// Redrawing must not lose the keyboard focus: it goes to the same button again, or to the heading.
function focused() {
  const active = document.activeElement, part = active?.closest("#answers, #changes, #timeline, #reasons, #whether");
  return part && { part: part.id, key: active.dataset.key };
}

function refocus(held) {
  if (!held || document.activeElement !== document.body) return;
  const same = [...$(held.part).querySelectorAll("[data-key]")].find((one) => one.dataset.key === held.key);
  const headings = [$("evidence").hidden || held.part === "changes" ? null : $("explained"), $("whether").hidden ? $("asked") : $("whether-title")];
  (same ?? headings.find(Boolean)).focus();
}

// Likely events with the highest lift, one of each relation, and frequent facts if there are too few.
async function exampleFacts() {
  const [{ examples: frequent }, within] = await Promise.all([overview(), usualWindow()]);
  const { events } = await call(address("/v1/events", { within: String(within), top: "100" })).catch(() => ({ events: [] }));
  const likely = events.filter(({ probability, kind }) => probability >= LIKELY && kind !== "continues")
    .sort((one, other) => liftOf(other) - liftOf(one));
  const byRelation = new Map([...likely, ...frequent].reverse().map((one) => [one.relation, one]));
  return [...likely, ...frequent].filter((one) => byRelation.get(one.relation) === one).slice(0, EXAMPLES);
}

const liftOf = ({ lift }) => lift ?? Number.MAX_VALUE; // what never happened has none

// Questions to begin with: who, and whether and when.
async function showExamples(isCurrent) {
  const facts = await exampleFacts();
  if (!isCurrent()) return;
  const link = (state, words) => el("a", { href: stateAddress(state) }, words);
  const items = facts.map(({ subject, relation, object }) => el("li", {},
    link({ subject, relation }, `${subject} ${relation} …?`), link({ relation, object }, `… ${relation} ${object}?`),
    link({ subject, relation, object }, `${subject} ${relation} ${object}: when?`)));
  $("examples").replaceChildren(...(items.length ? [el("h2", {}, "Examples"), el("ul", {}, ...items)] : []));
}

complete("subject", ["entity"]);
complete("object", ["entity"]);
complete("relation", ["relation"]);
$("question").addEventListener("submit", (event) => {
  event.preventDefault();
  shown = next = null; // asking the same question again may give other answers, since facts are added
  forget();
  go(Object.fromEntries(FIELDS.map((key) => [key, $(key).value.trim()])));
});
