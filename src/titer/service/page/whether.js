// Whether an event happens, or a fact that holds ends, and when: the probability by each step, quantiles, evidence and what-if.

import { call } from "./api.js";
import { isChanged, leaveOut } from "./changes.js";
import { survivalChart } from "./charts.js";
import { $, chance, el } from "./elements.js";
import { past } from "./events.js";
import { copyButtons, svgButton } from "./export.js";
import { factLine } from "./facts.js";
import { address } from "./navigation.js";
import { overview } from "./overview.js";
import { eventReasons } from "./reasons.js";

const EVIDENCE = 5;
let kept = null; // the forecast with the known history, which a change does not alter

async function known({ subject, relation, object, at }) {
  const path = address("/v1/when", { subject, relation, object, from: at, explain: String(EVIDENCE) });
  if (kept?.path !== path) kept = { path, found: await call(path) };
  return kept.found;
}

const changed = ({ subject, relation, object, at, without, with: added }) =>
  call("/v1/when", { subject, relation, object, ...(at && { from: at }), explain: EVIDENCE, without, with: added });

export const forget = () => { kept = null; };

export async function showWhether(state, go, isCurrent) {
  if ($("whether").hidden) $("whether").replaceChildren(el("p", { class: "loading" }, "Forecasting…"));
  $("whether").hidden = false;
  const [before, { windows }] = await Promise.all([known(state), overview()]);
  const after = isChanged(state) ? await changed(state) : before;
  if (!isCurrent()) return;
  const { event, curve } = after, reached = endsOf(after) ? "has ended" : "has happened";
  // A change may make a fact no longer hold. The probability that it begins is not compared with that of its end.
  const comparable = after !== before && endsOf(after) === endsOf(before), earlier = comparable ? before : null;
  const chart = survivalChart(after, earlier, `Probability that it ${reached} by each step, ${after.start} to ${after.end}`);
  $("whether").replaceChildren(
    el("h2", { id: "whether-title", tabindex: "-1" }, factLine(event)),
    el("p", { class: "note" }, `${past(event)}. Forecast from ${curve[0].date}, ${after.horizon}.`),
    ...(comparable || after === before ? [] : [el("p", { class: "note" }, `Before the change: ${before.meaning}.`)]),
    el("dl", { class: "figures" }, ...windows.filter(({ steps }) => steps <= curve.length).map(({ steps, words }) =>
      figure(words, after, earlier, steps))),
    el("h3", {}, `Probability that it ${reached} by`), chart,
    el("p", { class: "note" }, quantileWords(after)),
    ...eventReasons(event, (facts) => go(leaveOut(state, facts))), actions(after, chart));
  document.title = `${event.subject} ${event.relation} ${event.object} – titer`;
  $("status").textContent = `${chance(curve.at(-1).by)} by ${curve.at(-1).date}. ${quantileWords(after)}`;
}

const endsOf = ({ event }) => event.kind === "ends";

// The probability within some steps, that before a change, the usual one, and the expected count.
function figure(words, { event, curve }, earlier, steps) {
  const { by, usual } = curve[steps - 1], small = (text, kind = "") => el("span", { class: `old ${kind}` }, ` ${text}`);
  const expected = curve.slice(0, steps).reduce((sum, { probability }) => sum + probability, 0).toFixed(1);
  const ends = event.kind === "ends";
  return el("div", {}, el("dt", {}, `${ends ? "ends " : ""}within ${words}`), el("dd", {}, chance(by),
    ...(earlier ? [small(`was ${chance(earlier.curve[steps - 1].by)}`, "was")] : []),
    ...(event.times && usual > 0 ? [small(`usually ${chance(usual)}, now ${times(by / usual)}`)] : []),
    ...(steps > 1 ? [small(ends ? `holds in ${expected} of ${words}` : `${expected} times expected`)] : [])));
}

const times = (lift) => (lift < 0.1 ? "<0.1×" : lift >= 9.95 ? `${lift.toFixed(0)}×` : `${lift.toFixed(1)}×`);

function quantileWords(found) {
  const { quantiles, curve } = found, ends = endsOf(found);
  // Of several levels on the same date, the highest implies the others.
  const reached = quantiles.filter(({ date }, i) => date && date !== quantiles[i + 1]?.date);
  if (!reached.length) return `Probably ${ends ? "still holds at" : "not before"} the end of the forecast, ${curve.at(-1).date}.`;
  return `It has ${ends ? "ended" : "happened"} with a probability of ${reached.map(({ level, date }) => `${Math.round(100 * level)}% by ${date}`).join(", ")}.`;
}

function actions(found, chart) {
  const bar = copyButtons("when", found.curve, found);
  bar.append(svgButton("when", () => chart.querySelector("svg")));
  return bar;
}
