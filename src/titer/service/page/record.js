// How good the forecasts have been: those of the latest past windows, compared with what happened.

import { call } from "./api.js";
import { hitsChart, reliabilityChart } from "./charts.js";
import { $, chance, count, el, wholePercent } from "./elements.js";
import { copyButtons, svgButton } from "./export.js";
import { factLine } from "./facts.js";
import { address } from "./navigation.js";

const MISSED = 10, SURPRISES = 10;

export const title = () => "How good were the forecasts?";

export const clear = () => $("record").replaceChildren();

// Compares the windows one after another, and reports the state after each. The service keeps the results.
export async function checkWindows(isCurrent, report) {
  const state = await call("/v1/past-forecasts");
  if (!isCurrent()) return;
  report(state);
  for (const start of state.starts) {
    if (state.checked.some((one) => one.start === start)) continue;
    const found = await call(address("/v1/past-forecast", { start }));
    if (!isCurrent()) return;
    state.checked = [...state.checked, found].sort((one, other) => state.starts.indexOf(one.start) - state.starts.indexOf(other.start));
    report(state);
  }
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

function totals(checked) {
  const listed = sum(checked.map((one) => one.top.length));
  return { listed, hits: sum(checked.map((one) => one.hits)), expected: sum(checked.map((one) => one.expected_hits)) };
}

// One sentence for the home view; empty as long as nothing is known.
export function sentence({ checked, words }) {
  if (!checked.length) return "";
  const { listed, hits, expected } = totals(checked);
  const period = checked.length === 1 ? `In the last ${words}` : `In the last ${checked.length} periods of ${words}`;
  return `${period}, ${wholePercent(hits / listed)} of the most likely events happened; ${wholePercent(expected / listed)} were expected to.`;
}

// The bins of all windows together.
export function pooled(checked) {
  const bins = new Map();
  for (const { forecasts, probability, frequency } of checked.flatMap((one) => one.reliability)) {
    const place = Math.min(9, Math.floor(10 * probability)), bin = bins.get(place) ?? { forecasts: 0, probability: 0, frequency: 0 };
    bins.set(place, { forecasts: bin.forecasts + forecasts, probability: bin.probability + forecasts * probability, frequency: bin.frequency + forecasts * frequency });
  }
  return [...bins].sort(([one], [other]) => one - other).map(([, bin]) =>
    ({ forecasts: bin.forecasts, probability: bin.probability / bin.forecasts, frequency: bin.frequency / bin.forecasts }));
}

export async function show(isCurrent) {
  if (!$("record").childElementCount) $("record").replaceChildren(el("p", { class: "loading" }, "Loading…"));
  const evaluated = call("/v1/events/record");
  await checkWindows(isCurrent, draw);
  const { evaluations } = await evaluated;
  if (isCurrent()) $("record").append(...evaluation(evaluations));
}

function draw(state) {
  const { checked, starts, words } = state;
  if (!starts.length) {
    $("record").replaceChildren(el("p", { class: "lead" }, "No fact is later than the training data, so no forecast can be compared with what happened. Add facts, or train on a dataset with a test split."));
    return;
  }
  const left = starts.length - checked.length;
  const waiting = left ? [el("p", { class: "loading" }, `Comparing the forecasts of the past: ${checked.length} of ${starts.length} periods…`)] : [];
  if (!checked.length) return $("record").replaceChildren(...waiting);
  const { listed, hits, expected } = totals(checked);
  const inOrder = [...checked].reverse(), dates = inOrder.map(({ start }) => state.dates[starts.indexOf(start)]);
  const bins = pooled(checked), hitsPart = hitsChart(inOrder, dates, "Most likely events that happened in each period");
  const reliability = reliabilityChart(bins, "Share of events that happened, by probability");
  const unexpected = [missed(checked), surprises(checked)];
  const figure = (name, value) => el("div", {}, el("dt", {}, name), el("dd", {}, value));
  $("record").replaceChildren(
    el("p", { class: "lead" }, `Each period of ${words} was forecast with the facts before it only. None of these facts was used in training.`), ...waiting,
    el("dl", { class: "figures" }, figure("of the most likely events happened", wholePercent(hits / listed)),
      figure("were expected to", wholePercent(expected / listed)),
      figure("events happened", sum(checked.map((one) => one.events)).toLocaleString("en")),
      figure("were expected", Math.round(sum(checked.map((one) => one.expected))).toLocaleString("en"))),
    el("div", { class: "halves charts" },
      section(`The ${count(checked[0].top.length, "most likely event")} of each period`, "Bars: how many happened. Marks: how many were expected.", hitsPart),
      section("Reliability", "Of all events with a similar probability, the share that happened. On the line, both are equal; larger dots stand for more events.", reliability)),
    el("div", { class: unexpected.every((list) => list.length) ? "halves" : "spread" },
      section("Likely, but did not happen", null, events(unexpected[0], "Every likely event happened.")),
      section("Unlikely, but happened", null, events(unexpected[1], "No unlikely event happened."))),
    actions(checked, state, hitsPart, reliability));
  $("status").textContent = sentence(state);
}

const section = (name, note, ...parts) => el("section", {}, el("h2", {}, name), ...(note ? [el("p", { class: "note" }, note)] : []), ...parts);

const missed = (checked) => checked.flatMap((one) => one.top.filter((event) => !event.happened).map((event) => ({ ...event, window: one.window })))
  .sort((one, other) => other.probability - one.probability).slice(0, MISSED);

// The same number from each period, the latest first.
const surprises = (checked) => checked.flatMap((one) => one.surprises.slice(0, Math.ceil(SURPRISES / checked.length))
  .map((event) => ({ ...event, window: one.window }))).slice(0, SURPRISES);

const events = (list, none) => (list.length ? el("ol", { class: "checked" }, ...list.map((event) => el("li", {},
  el("span", { class: "number" }, chance(event.probability)), el("div", {}, factLine(event), el("p", { class: "note" }, event.window)))))
  : el("p", { class: "empty" }, none));

function actions(checked, state, ...charts) {
  const rows = checked.flatMap(({ start, end, top }) => top.map(({ subject, relation, object, probability, happened }) =>
    ({ start, end, subject, relation, object, probability, happened })));
  const bar = copyButtons("record", rows, state);
  bar.append(...charts.map((chart, i) => svgButton(["hits", "reliability"][i], () => chart.querySelector("svg"), ["Download hits as SVG", "Download reliability as SVG"][i])));
  return bar;
}

// What `titer evaluate --events` recorded, on whole splits.
function evaluation(evaluations) {
  if (!evaluations.length) {
    return [section("Evaluation", null, el("p", { class: "note" }, el("code", {}, "titer evaluate RUN --events"), " measures the forecasts of a whole split, beside simple baselines."))];
  }
  const share = (value) => (100 * value).toFixed(1);
  const rows = evaluations.flatMap(({ split, horizon, at_step: byName }) => Object.entries(byName).map(([name, one]) => el("tr", {},
    ...[split, horizon, name].map((value) => el("td", {}, String(value))),
    ...[share(one.average_precision), share(one.precision_at_n), share(one.brier_skill)].map((value) => el("td", { class: "number" }, value)))));
  const heads = ["Split", "Steps ahead", "Forecast", "Average precision", "Precision at n", "Brier skill"];
  return [section("Evaluation", "Whole splits, step by step, beside baselines that know only how often a fact occurred; × 100.",
    el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Evaluation" }, el("table", {},
      el("thead", {}, el("tr", {}, ...heads.map((name, i) => el("th", { scope: "col", ...(i > 2 && { class: "number" }) }, name)))), el("tbody", {}, ...rows))))];
}
