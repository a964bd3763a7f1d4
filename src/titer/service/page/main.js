// The page: a question in the address, its answers, and the evidence for one of them.

import { showAnswers } from "./answers.js";
import { call, names } from "./api.js";
import { $, el } from "./elements.js";
import { showEvidence } from "./evidence.js";
import { FIELDS, question, readState, sameQuestion, writeState } from "./state.js";

const TOP = 10, EVIDENCE = 8;
let latest = 0; // only the latest request may write to the page
let shown = null; // the question on the page and its answers, evidence included

function go(next) {
  writeState(next);
  show();
}

// Answers with their evidence. A question that is shown already is not asked again.
async function answersTo(state) {
  if (shown && sameQuestion(shown.state, state)) return shown.found;
  const request = { ...question(state), top: TOP, explain: EVIDENCE };
  return state.without.length
    ? call("/v1/what-if", { ...request, without: state.without })
    : { after: await call("/v1/forecast", request), moves: [], without: [] };
}

async function show() {
  const state = readState(), mine = ++latest, held = focused();
  const isCurrent = () => mine === latest;
  for (const key of FIELDS) $(key).value = state[key];
  if (!state.relation) { shown = null; $("result").hidden = $("evidence").hidden = true; return; }
  document.body.setAttribute("aria-busy", "true");
  try {
    const found = await answersTo(state);
    if (!isCurrent()) return;
    shown = { state, found };
    $("problem").hidden = true;
    showAnswers(found, state, go);
    await explain(found.after, state, isCurrent);
    if (isCurrent()) refocus(held);
  } catch (error) {
    if (isCurrent()) showProblem(error);
  } finally {
    if (isCurrent()) document.body.removeAttribute("aria-busy");
  }
}

async function explain(forecast, state, isCurrent) {
  $("evidence").hidden = true;
  if (!state.answer) return;
  // Only an answer that is not among the best, as a link may name, needs a request of its own.
  const answer = forecast.answers.find((one) => one.entity === state.answer) ?? await call("/v1/explain",
    { ...question(state), answer: state.answer, limit: EVIDENCE, without: state.without });
  const remove = ({ subject, relation, object, time }) =>
    go({ ...state, without: [...state.without, { subject, relation, object, time }] });
  await showEvidence(forecast, answer, remove, isCurrent);
}

// Redrawing must not lose the keyboard focus: it goes to the same button again, or to the heading.
function focused() {
  const active = document.activeElement, part = active?.closest("#answers, #changes, #timeline");
  return part && { part: part.id, key: active.dataset.key };
}

function refocus(held) {
  if (!held || document.activeElement !== document.body) return;
  const same = [...$(held.part).querySelectorAll("[data-key]")].find((one) => one.dataset.key === held.key);
  (same ?? $(held.part === "timeline" && !$("evidence").hidden ? "explained" : "asked")).focus();
}

function showProblem(error) {
  const state = readState();
  shown = null;
  $("result").hidden = $("evidence").hidden = true;
  // The message quotes the unknown name; of two fields that it contains, the longer one is meant.
  const [wrong] = [...FIELDS, "answer"].filter((key) => state[key] && error.message.includes(state[key]))
    .sort((a, b) => state[b].length - state[a].length);
  $("problem").replaceChildren(el("p", {}, error.message), ...(error.details ?? []).map((line) => el("p", {}, line)),
    ...(error.suggestions ?? []).map((name) => el("button", {
      type: "button", click: () => go({ ...state, ...(wrong && { [wrong]: name }) }),
    }, name)));
  $("problem").hidden = false;
}

function complete(input, list, kind) {
  let timer;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      try { list.replaceChildren(...(await names(kind, input.value)).map((name) => el("option", { value: name }))); }
      catch { /* asking the question reports the problem */ }
    }, 120);
  });
}

complete($("subject"), $("subjects"), "entities");
complete($("object"), $("objects"), "entities");
complete($("relation"), $("relations"), "relations");
$("question").addEventListener("submit", (event) => {
  event.preventDefault();
  shown = null; // asking the same question again may give other answers, since facts are added
  go(Object.fromEntries(FIELDS.map((key) => [key, $(key).value.trim()])));
});
addEventListener("popstate", show);
show(); // before the first response, so that text typed meanwhile is kept

try {
  const about = await call("/v1/model");
  $("about").textContent = `${about.model}, trained on ${about.dataset}: ${about.facts.toLocaleString("en")} facts from ${about.first} to ${about.last}.`;
  $("at").placeholder = about.next;
} catch (error) {
  $("about").textContent = "";
  if (!readState().relation) showProblem(error); // otherwise the question reports it
}
