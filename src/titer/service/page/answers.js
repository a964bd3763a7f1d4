// The list of answers; after a change of the history, with how far each has moved.

import { $, MIN_PROBABILITY, el, percent, svg } from "./elements.js";
import { copyButtons } from "./export.js";

export function showAnswers({ after, moves }, state, go) {
  $("asked").textContent = `${after.subject ?? "?"} — ${after.relation} — ${after.object ?? "?"}, ${after.time}`;
  $("horizon").textContent = [after.horizon, after.caution].filter(Boolean).join(". ");
  const before = new Map(moves.map((move) => [move.entity, move.rank_before]));
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
  const old = before.get(answer.entity), moved = before.size ? (old ?? Infinity) - answer.rank : 0;
  const width = answer.probability < MIN_PROBABILITY ? 0 : Math.max(0.4, 100 * answer.probability);
  const bar = svg("svg", { viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { width, height: 4 }));
  return el("li", {}, el("button", {
    type: "button", "data-key": answer.entity, "aria-pressed": String(answer.entity === state.answer),
    click: () => go({ ...state, answer: answer.entity }),
  }, el("span", { class: "number" }, `${answer.rank}.`), el("span", { class: "name" }, answer.entity), bar,
  el("span", { class: "number" }, percent(answer.probability)), change(old, moved)));
}

function change(old, moved) {
  if (moved > 0) {
    const label = old ? `up ${moved}` : "new";
    return el("span", { class: "number up", role: "img", "aria-label": label }, old ? `▲ ${moved}` : "new");
  }
  if (moved < 0) return el("span", { class: "number down", role: "img", "aria-label": `down ${-moved}` }, `▼ ${-moved}`);
  return el("span", {});
}
