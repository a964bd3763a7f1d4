// Elements are built one by one, so that no name from the data is ever parsed as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== undefined && value !== null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

export const $ = (id) => document.getElementById(id);
export const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
export const MIN_PROBABILITY = 0.0005; // a smaller one would be shown as 0.0%
export const percent = (value) => (value < MIN_PROBABILITY ? "<0.1%" : `${(100 * value).toFixed(1)}%`);
export const wholePercent = (value) => `${(100 * value).toFixed(0)}%`;
export const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
export const chance = (value) => (value > 0.995 ? ">99%" : value < 0.01 ? percent(value) : wholePercent(value));
export const capital = (words) => words[0].toUpperCase() + words.slice(1);

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// A date of the data, such as 2023-06-30, as the service words it for readers: 30 Jun 2023. Others stay as they are.
export function dateWords(label) {
  const [, year, month, day, time] = /^(\d{4})-(\d\d)(?:-(\d\d)(?: (\d\d:\d\d))?)?$/.exec(label) ?? [];
  const name = MONTHS[Number(month) - 1], [, inYear, quarter] = /^(\d{4})-(Q\d)$/.exec(label) ?? [];
  if (quarter) return `${quarter} ${inYear}`;
  return name ? `${day ? `${Number(day)} ` : ""}${name} ${year}${time ? `, ${time}` : ""}` : String(label);
}
