// The list of answers; after a change of the history, with how far each has moved and how likely it was.

import { $, MIN_PROBABILITY, dateWords, el, percent, svg } from "./elements.js";
import { copyButtons } from "./export.js";

export function showAnswers({ after, moves }, state, go) {
  $("asked").textContent = `${after.subject ?? "?"} — ${after.relation} — ${after.object ?? "?"}, ${dateWords(after.time)}`;
  document.title = `${$("asked").textContent} – titer`;
  $("horizon").textContent = [after.horizon, after.caution].filter(Boolean).join(". ");
  $("meaning").textContent = after.meaning;
  $("answers-hint").hidden = !after.answers.length;
  const before = new Map(moves.map((move) => [move.entity, move]));
  $("answers").classList.toggle("compared", before.size > 0);
  $("answers").replaceChildren(...after.answers.map((answer) => row(answer, before, state, go)));
  if (!after.answers.length) $("answers").append(el("li", {}, "No earlier fact supports any answer."));
  const rows = after.answers.map(({ rank, entity, probability }) => ({ rank, entity, probability }));
  $("answer-actions").replaceChildren(copyButtons("answers", rows, after));
  $("result").hidden = false;
  const [best] = after.answers;
  $("status").textContent = best
    ? `${after.answers.length} answers. The first: ${best.entity}, ${percent(best.probability)}.` : "No answers.";
}

function row(answer, before, state, go) {
  const old = before.get(answer.entity);
  const width = answer.probability < MIN_PROBABILITY ? 0 : Math.max(0.4, 100 * answer.probability);
  const bar = svg("svg", { viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { width, height: 4 }));
  return el("li", {}, el("button", {
    type: "button", "data-key": answer.entity, "aria-pressed": String(answer.entity === state.answer),
    click: () => go({ ...state, answer: answer.entity }),
  }, el("span", { class: "number" }, `${answer.rank}.`), el("span", { class: "name" }, answer.entity), bar,
  el("span", { class: "number" }, percent(answer.probability)), ...(old ? [change(old, answer)] : [])));
}

function change({ rank_before: rank, probability_before: probability }, answer) {
  return el("span", { class: "change" }, move(rank, answer.rank), " ", el("span", { class: "old" }, `was ${percent(probability)}`));
}

function move(before, after) {
  if (before === null) return el("span", { class: "up" }, "new");
  const moved = before - after;
  if (!moved) return "";
  const label = moved > 0 ? `up ${moved}` : `down ${-moved}`;
  return el("span", { class: moved > 0 ? "up" : "down", role: "img", "aria-label": label }, `${moved > 0 ? "▲" : "▼"} ${Math.abs(moved)}`);
}
