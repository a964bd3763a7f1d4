// The page: a question in the address, its answers, and why. Whatever is shown can be linked to.

import { call, names } from "./api.js";
import { el, percent, svg } from "./elements.js";
import { draw } from "./timeline.js";

const TOP = 10, EVIDENCE = 8, FIELDS = ["subject", "relation", "object", "at"], STATE = [...FIELDS, "answer"];
const SHOWN = 0.0005; // a smaller share of the evidence would be written 0.0%
const $ = (id) => document.getElementById(id);
let latest = 0; // only the latest question may write to the page

// The state of the page is its address.
const state = () => {
  const found = new URLSearchParams(location.search);
  const read = Object.fromEntries(STATE.map((key) => [key, found.get(key) ?? ""]));
  let without = [];
  try { without = JSON.parse(found.get("without") ?? "[]"); } catch { /* a broken link asks the plain question */ }
  return { ...read, without: Array.isArray(without) ? without : [] };
};

function go(next) {
  const address = new URLSearchParams();
  for (const key of STATE) if (next[key]) address.set(key, next[key]);
  if (next.without?.length) address.set("without", JSON.stringify(next.without));
  history.pushState(null, "", `?${address}`);
  show();
}

const question = ({ subject, relation, object, at }) =>
  ({ relation, ...(subject && { subject }), ...(object && { object }), ...(at && { at }) });

// What is drawn anew must not take the place from whoever goes by keyboard: it is the same button again, or the heading.
function focused() {
  const here = document.activeElement, part = here?.closest("#answers, #changes, #timeline");
  return part && { part: part.id, key: here.dataset.key };
}

function refocus(held) {
  if (!held || document.activeElement !== document.body) return;
  const same = [...$(held.part).querySelectorAll("[data-key]")].find((one) => one.dataset.key === held.key);
  (same ?? $(held.part === "timeline" && !$("why").hidden ? "whose" : "asked")).focus();
}

async function show() {
  const wanted = state(), mine = ++latest, held = focused();
  for (const key of FIELDS) $(key).value = wanted[key];
  if (!wanted.relation) { $("result").hidden = $("why").hidden = true; return; }
  document.body.setAttribute("aria-busy", "true");
  try {
    const found = wanted.without.length
      ? await call("/v1/what-if", { ...question(wanted), top: TOP, without: wanted.without })
      : { after: await call("/v1/forecast", { ...question(wanted), top: TOP }), moves: [], without: [] };
    if (mine !== latest) return;
    $("problem").hidden = true;
    showAnswers(found, wanted);
    await showWhy(found, wanted, mine);
    if (mine === latest) refocus(held);
  } catch (error) {
    if (mine === latest) showProblem(error);
  } finally {
    if (mine === latest) document.body.removeAttribute("aria-busy");
  }
}

function showAnswers({ after, moves, without }, wanted) {
  $("asked").textContent = `${after.subject ?? "?"} — ${after.relation} — ${after.object ?? "?"}, ${after.time}`;
  $("horizon").textContent = [after.horizon, after.caution].filter(Boolean).join(". ");
  $("changes").replaceChildren(...without.map((fact, i) => el("p", {}, "Without: ", fact.sentence, ". ",
    el("button", { type: "button", "data-key": fact.sentence, click: () => go({ ...wanted, without: wanted.without.filter((_, j) => j !== i) }) }, "Put it back"))));
  const before = new Map(moves.map((move) => [move.entity, move.rank_before]));
  $("answers").replaceChildren(...after.answers.map((answer) => row(answer, before, wanted)));
  if (!after.answers.length) $("answers").append(el("li", {}, "Nothing that was known before this time speaks for anyone."));
  $("result").hidden = false;
  const [best] = after.answers;
  $("said").textContent = best ? `${after.answers.length} answers. The first: ${best.entity}, ${percent(best.probability)}.` : "No answers.";
}

function row(answer, before, wanted) {
  const old = before.get(answer.entity), moved = before.size ? (old ?? Infinity) - answer.rank : 0;
  const change = moved > 0 ? el("span", { class: "number up", role: "img", "aria-label": old ? `up ${moved}` : "new" }, old ? `▲ ${moved}` : "new")
    : moved < 0 ? el("span", { class: "number down", role: "img", "aria-label": `down ${-moved}` }, `▼ ${-moved}`) : el("span", {});
  const bar = svg("svg", { viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { width: Math.max(0.4, 100 * answer.probability), height: 4 }));
  return el("li", {}, el("button", {
    type: "button", "data-key": answer.entity, "aria-pressed": String(answer.entity === wanted.answer),
    click: () => go({ ...wanted, answer: answer.entity }),
  }, el("span", { class: "number" }, `${answer.rank}.`), el("span", { class: "name" }, answer.entity), bar,
  el("span", { class: "number" }, percent(answer.probability)), change));
}

async function showWhy({ after }, wanted, mine) {
  $("why").hidden = true;
  if (!wanted.answer) return;
  const found = await call("/v1/explain",
    { ...question(wanted), answer: wanted.answer, limit: EVIDENCE, without: wanted.without });
  if (mine !== latest) return;
  const start = after.subject ?? after.object;
  const reasons = found.reasons.filter((reason) => reason.share >= SHOWN), paths = reasons.filter((reason) => reason.facts.length);
  $("whose").textContent = `Why ${found.entity}? Rank ${found.rank}, ${percent(found.probability)}`;
  const without = ({ subject, relation, object, time }) =>
    go({ ...wanted, without: [...wanted.without, { subject, relation, object, time }] });
  $("timeline").replaceChildren(...(paths.length ? [draw(paths, start, found.entity, after.time, without)] : []));
  $("hint").hidden = !paths.length;
  $("reasons").replaceChildren(...reasons.map((reason) => el("li", {}, `${percent(reason.share)} — ${reason.text}`)));
  if (!reasons.length) $("reasons").append(el("li", {}, "The model has no evidence to show for this answer."));
  $("why").hidden = false;
  $("said").textContent += ` ${$("whose").textContent}.`;
}

function showProblem(error) {
  const wanted = state();
  $("result").hidden = $("why").hidden = true;
  // The service quotes the name that nobody has; a shorter one may be part of it.
  const [wrong] = STATE.filter((key) => wanted[key] && error.message.includes(wanted[key]))
    .sort((a, b) => wanted[b].length - wanted[a].length);
  $("problem").replaceChildren(el("p", {}, error.message), ...(error.details ?? []).map((line) => el("p", {}, line)),
    ...(error.suggestions ?? []).map((name) => el("button", {
      type: "button", click: () => go({ ...wanted, ...(wrong && { [wrong]: name }) }),
    }, name)));
  $("problem").hidden = false;
}

function complete(input, list, kind) {
  let timer;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      try { list.replaceChildren(...(await names(kind, input.value)).map((name) => el("option", { value: name }))); }
      catch { /* asking will say what is wrong */ }
    }, 120);
  });
}

complete($("subject"), $("subjects"), "entities");
complete($("object"), $("objects"), "entities");
complete($("relation"), $("relations"), "relations");
$("question").addEventListener("submit", (event) => {
  event.preventDefault();
  go(Object.fromEntries(FIELDS.map((key) => [key, $(key).value.trim()])));
});
addEventListener("popstate", show);
show(); // at once: what is typed while the service is looked for must stay

try {
  const about = await call("/v1/model");
  $("about").textContent = `${about.model} knows ${about.facts.toLocaleString("en")} facts of ${about.dataset}, ${about.first} to ${about.last}.`;
  $("at").placeholder = about.next;
} catch (error) {
  $("about").textContent = "";
  if (!state().relation) showProblem(error); // a question says it itself
}
