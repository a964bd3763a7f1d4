// Charts in SVG. Their classes are styled by style.css, as those of the report are.

import { $, el, svg, wholePercent } from "./elements.js";

const MARGIN = 44, NARROWEST = 280, WIDEST = 1140, TWO_COLUMNS = 960, SMALL = 320, DATE_SPACE = 150;

// Drawn as wide as its place on the page, so that text keeps its size on narrow screens.
const available = (columns = 1) => {
  const width = $("main").clientWidth - 40;
  return Math.min(WIDEST, Math.max(NARROWEST, columns > 1 && width >= TWO_COLUMNS ? (width - 56) / 2 : width));
};

const text = (x, y, words, anchor = "middle", kind) => svg("text", { x, y, "text-anchor": anchor, class: kind }, words);
const line = (x1, y1, x2, y2, kind) => svg("line", { x1, y1, x2, y2, class: kind });
const title = (words) => svg("title", {}, words);

function figure(name, width, height, ...parts) {
  return el("figure", {}, svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": name }, ...parts));
}

// The largest of 1, 2 and 5 times a power of ten that divides a value into at least two parts.
function tickStep(largest) {
  const power = 10 ** Math.floor(Math.log10(Math.max(largest, 1)));
  return [5, 2, 1].map((factor) => factor * power).find((step) => step <= largest / 2) ?? Math.max(1, power / 2);
}

function ticksUpTo(most) {
  const step = tickStep(most), found = [];
  for (let value = step; value <= most; value += step) found.push(value);
  return found;
}

const guides = (values, y, right, label) => values.flatMap((value) =>
  [line(MARGIN, y(value), right, y(value), "guide"), text(MARGIN - 6, y(value) + 4, label(value), "end")]);
const SHARES = [0, 0.25, 0.5, 0.75, 1];

// Facts over time: a bar for each part of the timeline.
export function timelineChart(bars, name) {
  const width = available(), height = 150, top = 14, bottom = height - 24;
  const most = Math.max(...bars.map((bar) => bar.facts), 1), wide = (width - MARGIN) / bars.length;
  const y = (value) => bottom - (value / most) * (bottom - top);
  return figure(name, width, height,
    ...guides(ticksUpTo(most), y, width, (value) => value.toLocaleString("en")),
    ...bars.map((bar, i) => svg("rect", {
      class: "first", x: MARGIN + i * wide + wide * 0.08, width: wide * 0.84, y: y(bar.facts), height: bottom - y(bar.facts),
    }, title(`from ${bar.date}: ${bar.facts.toLocaleString("en")}`))),
    line(MARGIN, bottom, width, bottom, "axis"),
    text(MARGIN, height - 6, bars[0].date, "start"), text(width, height - 6, bars.at(-1).date, "end"),
    ...datesBetween(bars, wide, width).flatMap(({ date, x }) => [line(x, bottom, x, bottom + 5, "axis"), text(x, height - 6, date)]));
}

// Bars between the first and the last whose dates fit, at equal distances; each begins at its tick.
function datesBetween(bars, wide, width) {
  const parts = Math.min(Math.floor(width / DATE_SPACE), Math.floor(bars.length / 2)), found = [];
  for (let part = 1; part < parts; part += 1) {
    const place = Math.round((part * bars.length) / parts);
    found.push({ date: bars[place].date, x: MARGIN + place * wide });
  }
  return found;
}

// The probability that an event has happened by each step, as stairs; dotted, what it was before a change.
export function survivalChart({ curve, quantiles }, before, name) {
  const width = available(), height = 260, top = 16, bottom = height - 40, right = width - 16;
  const x = (ahead) => MARGIN + (ahead / curve.length) * (right - MARGIN), y = (value) => bottom - value * (bottom - top);
  const stairs = (steps) => steps.reduce((path, { ahead, by }) => `${path}V${y(by).toFixed(1)}H${x(ahead).toFixed(1)}`, `M${x(0)},${y(0)}`);
  const labelled = [curve[0], curve[Math.floor(curve.length / 2)], curve.at(-1)];
  const half = quantiles.find((one) => one.level === 0.5 && one.ahead !== null), middle = half && x(half.ahead - 0.5);
  const late = half && half.ahead > 0.6 * curve.length;
  return figure(name, width, height,
    ...guides(SHARES, y, right, wholePercent),
    svg("path", { class: "area", d: `${stairs(curve)}V${y(0)}Z` }),
    ...(before ? [svg("path", { class: "line second dashed", d: stairs(before.curve) })] : []),
    svg("path", { class: "line first", d: stairs(curve) }),
    ...(before ? [text(right - 6, y(before.curve.at(-1).by) + (before.curve.at(-1).by > 0.9 ? 18 : -6), "before the change", "end", "figure")] : []),
    ...(half && !before ? [line(middle, y(0), middle, y(1), "dotted"), text(middle + (late ? -6 : 6), y(0.5) - 6, `even odds by ${half.date}`, late ? "end" : "start", "figure")] : []),
    ...curve.map(({ ahead, date, by }) => svg("rect", { class: "hover", x: x(ahead - 1), width: x(1) - x(0), y: top, height: bottom - top },
      title(`by ${date}: ${wholePercent(by)}`))),
    line(MARGIN, bottom, right, bottom, "axis"),
    ...labelled.map(({ ahead, date }, i) => text([x(0), x(ahead - 0.5), right][i], bottom + 18, date, ["start", "middle", "end"][i])));
}

// How many of the most likely events of each period happened; marks: how many were expected.
export function hitsChart(checked, dates, name) {
  const width = available(2), height = 300, top = 16, bottom = height - 40, right = width - 8;
  const most = Math.max(...checked.map((one) => one.top.length)), wide = (right - MARGIN) / checked.length;
  const y = (value) => bottom - (value / most) * (bottom - top), x = (i) => MARGIN + i * wide;
  return figure(name, width, height,
    ...guides(ticksUpTo(most), y, right, String),
    ...checked.flatMap((one, i) => [
      svg("rect", { class: "first", x: x(i) + 0.18 * wide, width: 0.64 * wide, y: y(one.hits), height: bottom - y(one.hits), rx: 2 },
        title(`${one.window}: ${one.hits} of ${one.top.length} happened, ${one.expected_hits.toFixed(1)} were expected`)),
      line(x(i) + 0.08 * wide, y(one.expected_hits), x(i) + 0.92 * wide, y(one.expected_hits), "expected"),
      text(x(i) + wide / 2, bottom - 8, one.hits, "middle", "inside"),
    ]),
    line(MARGIN, bottom, right, bottom, "axis"),
    text(MARGIN, bottom + 18, dates[0], "start"),
    ...(checked.length > 1 ? [text(right, bottom + 18, dates.at(-1), "end")] : []));
}

// The share of events that happened, by their probability; on the diagonal both are equal.
export function reliabilityChart(bins, name, isSmall = false) {
  const width = isSmall ? Math.min(available(), SMALL) : available(2), height = isSmall ? 200 : 300;
  const top = 16, bottom = height - 40, right = width - 8, ticks = isSmall ? [0, 0.5, 1] : SHARES, largest = isSmall ? 5 : 8;
  // Dots at 0% and 100% cover neither the labels nor the edge.
  const inside = 14, x = (value) => MARGIN + inside + value * (right - MARGIN - 2 * inside);
  const y = (value) => bottom - inside - value * (bottom - top - inside);
  const most = Math.max(...bins.map((bin) => bin.forecasts));
  return figure(name, width, height,
    ...guides(ticks, y, right, wholePercent),
    line(x(0), y(0), x(1), y(1), "dotted"),
    ...bins.map(({ forecasts, probability, frequency }) => svg("circle", {
      class: "mark", cx: x(probability), cy: y(frequency), r: 4 + largest * (Math.log1p(forecasts) / Math.log1p(most)) ** 2,
    }, title(`${forecasts.toLocaleString("en")} forecasts of about ${wholePercent(probability)}: ${wholePercent(frequency)} happened`))),
    line(MARGIN, bottom, right, bottom, "axis"),
    ...ticks.map((value) => text(x(value), bottom + 18, wholePercent(value))),
    text((MARGIN + right) / 2, height - 6, "probability"));
}
