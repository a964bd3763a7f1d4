// Whether an event happens, and when: the probability by each step, quantiles and evidence.

import { call } from "./api.js";
import { survivalChart } from "./charts.js";
import { $, chance, count, el } from "./elements.js";
import { reasonLists } from "./events.js";
import { copyButtons, svgButton } from "./export.js";
import { factLine } from "./facts.js";
import { address } from "./navigation.js";
import { overview } from "./overview.js";

const EVIDENCE = 5;

export async function showWhether({ subject, relation, object, at }, isCurrent) {
  $("whether").replaceChildren(el("p", { class: "loading" }, "Forecasting…"));
  $("whether").hidden = false;
  const parameters = { subject, relation, object, from: at, explain: String(EVIDENCE) };
  const [found, { windows }] = await Promise.all([call(address("/v1/when", parameters)), overview()]);
  if (!isCurrent()) return;
  const { event, curve } = found;
  const chart = survivalChart(found, `Probability that it has happened by each step, ${found.start} to ${found.end}`);
  $("whether").replaceChildren(
    el("h2", { id: "whether-title", tabindex: "-1" }, factLine(event)),
    el("p", { class: "note" }, [`Forecast from ${curve[0].date}, ${found.horizon}`, past(event)].join(". ")),
    el("dl", { class: "figures" }, ...windows.filter(({ steps }) => steps <= curve.length).map(({ steps, words }) =>
      el("div", {}, el("dt", {}, `within ${words}`), el("dd", {}, chance(curve[steps - 1].by))))),
    el("h3", {}, "Probability that it has happened by"), chart,
    el("p", { class: "note" }, quantileWords(found)),
    ...reasonLists(event), actions(found, chart));
  $("status").textContent = `${chance(curve.at(-1).by)} by ${curve.at(-1).date}. ${quantileWords(found)}`;
}

const past = ({ times, last, rate }) =>
  (last ? `${count(times, "time")} before, last on ${last.date}; ${rate.split(",")[0]}.` : "It never happened before.");

function quantileWords({ quantiles, curve }) {
  const known = quantiles.filter(({ date }) => date);
  if (!known.length) return `Probably not before the end of the forecast, ${curve.at(-1).date}.`;
  return `It has happened with ${known.map(({ level, date }) => `${Math.round(100 * level)}% by ${date}`).join(", ")}.`;
}

function actions(found, chart) {
  const bar = copyButtons("when", found.curve, found);
  bar.append(svgButton("when", () => chart.querySelector("svg")));
  return bar;
}
