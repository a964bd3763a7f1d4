// Charts in SVG. Their classes are styled by style.css, as those of the report are.

import { $, el, svg } from "./elements.js";

const MARGIN = 44, NARROWEST = 280, WIDEST = 960;

// Drawn as wide as the page is, so that text keeps its size on narrow screens.
const available = () => Math.min(WIDEST, Math.max(NARROWEST, $("main").clientWidth - 40));

const text = (x, y, words, anchor = "middle") => svg("text", { x, y, "text-anchor": anchor }, words);
const line = (x1, y1, x2, y2, kind) => svg("line", { x1, y1, x2, y2, class: kind });

function figure(title, width, height, ...parts) {
  return el("figure", {}, svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title }, ...parts));
}

// The largest of 1, 2 and 5 times a power of ten that divides a value into at least two parts.
function tickStep(largest) {
  const power = 10 ** Math.floor(Math.log10(Math.max(largest, 1)));
  return [5, 2, 1].map((factor) => factor * power).find((step) => step <= largest / 2) ?? Math.max(1, power / 2);
}

// Facts over time: a bar for each part of the timeline.
export function timelineChart(bars, title) {
  const width = available(), height = 150, top = 14, bottom = height - 24;
  const most = Math.max(...bars.map((bar) => bar.facts), 1), wide = (width - MARGIN) / bars.length;
  const y = (value) => bottom - (value / most) * (bottom - top);
  const step = tickStep(most), ticks = [];
  for (let value = step; value <= most; value += step) ticks.push(value);
  return figure(title, width, height,
    ...ticks.flatMap((value) => [line(MARGIN, y(value), width, y(value), "guide"), text(MARGIN - 6, y(value) + 4, value.toLocaleString("en"), "end")]),
    ...bars.map((bar, i) => svg("rect", {
      class: "first", x: MARGIN + i * wide + wide * 0.08, width: wide * 0.84, y: y(bar.facts), height: bottom - y(bar.facts),
    }, svg("title", {}, `from ${bar.date}: ${bar.facts.toLocaleString("en")}`))),
    line(MARGIN, bottom, width, bottom, "axis"),
    text(MARGIN, height - 6, bars[0].date, "start"), text(width, height - 6, bars.at(-1).date, "end"));
}

// The probability that an event has happened by each step, as stairs.
export function survivalChart({ curve, quantiles }, title) {
  const width = available(), height = 260, top = 16, bottom = height - 40, right = width - 16;
  const x = (ahead) => MARGIN + (ahead / curve.length) * (right - MARGIN), y = (value) => bottom - value * (bottom - top);
  let stairs = `M${x(0)},${y(0)}`;
  for (const { ahead, by } of curve) stairs += `V${y(by).toFixed(1)}H${x(ahead).toFixed(1)}`;
  const labelled = [curve[0], curve[Math.floor(curve.length / 2)], curve.at(-1)];
  const half = quantiles.find((one) => one.level === 0.5 && one.ahead !== null);
  return figure(title, width, height,
    ...[0, 0.25, 0.5, 0.75, 1].flatMap((value) => [line(MARGIN, y(value), right, y(value), "guide"), text(MARGIN - 6, y(value) + 4, `${100 * value}%`, "end")]),
    svg("path", { class: "area", d: `${stairs}V${y(0)}Z` }), svg("path", { class: "line first", d: stairs }),
    ...(half ? [line(x(half.ahead - 0.5), y(0), x(half.ahead - 0.5), y(1), "dotted"), text(x(half.ahead - 0.5) + 6, y(1) + 12, `even odds by ${half.date}`, half.ahead > 0.6 * curve.length ? "end" : "start")] : []),
    ...curve.map(({ ahead, date, by }) => svg("rect", { class: "hover", x: x(ahead - 1), width: x(1) - x(0), y: top, height: bottom - top },
      svg("title", {}, `by ${date}: ${(100 * by).toFixed(0)}%`))),
    line(MARGIN, bottom, right, bottom, "axis"),
    ...labelled.map(({ ahead, date }, i) => text(x(ahead - 0.5), bottom + 18, date, ["start", "middle", "end"][i])));
}
