// Results for other programs: CSV, JSON and SVG.

import { $, el } from "./elements.js";

const FORMULA = /^[=+\-@\t\r]/, NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

// A spreadsheet would run a name that begins like a formula, so it gets an apostrophe, as in files that titer writes.
const cell = (value) => {
  const words = value === null || value === undefined ? "" : String(value);
  const text = typeof value === "string" && FORMULA.test(words) && !NUMBER.test(words) ? `'${words}` : words;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export function csv(rows) {
  const names = Object.keys(rows[0] ?? {});
  return [names, ...rows.map((row) => names.map((name) => row[name]))].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

function download(text, name, type) {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A browser gives access to the clipboard only on secure addresses; elsewhere the text becomes a file.
async function copy(button, text, name, type) {
  const usual = button.dataset.label;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    download(text, name, type);
    button.textContent = "Saved";
  }
  $("status").textContent = `${usual}: done.`;
  setTimeout(() => { button.textContent = usual; }, 2000);
}

const action = (label, act) => {
  const button = el("button", { type: "button", class: "quiet", "data-label": label, click: () => act(button) }, label);
  return button;
};

// Buttons that copy a result: rows as CSV, and the whole response as JSON. The steps of a curve get the names of its event.
export const copyButtons = (name, rows, result) => el("p", { class: "actions" },
  action("Copy CSV", (button) => copy(button, csv(rows === result.curve ? stepRows(result) : rows), `${name}.csv`, "text/csv")),
  action("Copy JSON", (button) => copy(button, JSON.stringify(result, null, 2), `${name}.json`, "application/json")));

const WINDOW = ["start", "end", "steps"], NAMES = ["subject", "relation", "object"];
const EVENT = ["rank", ...NAMES, "probability", "expected", "usual", "lift", "kind", "rate", "times"];
const STEP = ["time", "ahead", "first", "by", "survival", "probability", "usual"];
const pick = (found, names) => Object.fromEntries(names.map((name) => [name, found[name]]));

// The columns of `titer events --out` and `titer when --out`, except evidence.
export const eventRows = (forecast) => forecast.events.map((event) =>
  ({ ...pick(forecast, WINDOW), ...pick(event, EVENT), last: event.last?.time }));
const stepRows = (forecast) => forecast.curve.map((step) =>
  ({ ...pick(forecast, WINDOW), ...pick(forecast.event, NAMES), ...pick(step, STEP), kind: forecast.event.kind }));

const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "stroke-linecap",
  "paint-order", "font-size", "font-weight", "font-family"];

// A file has no style sheet, so the styles of every element become attributes of its copy.
function standalone(drawn) {
  const copied = drawn.cloneNode(true), parts = [...copied.querySelectorAll("*")];
  [...drawn.querySelectorAll("*")].forEach((part, i) => {
    const style = getComputedStyle(part);
    for (const name of STYLES) parts[i].setAttribute(name, style.getPropertyValue(name));
    if (part.classList.contains("hover") || part.classList.contains("touch")) parts[i].setAttribute("fill", "none");
    if (part.classList.contains("name")) parts[i].removeAttribute("transform"); // it was moved into view only
  });
  copied.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  paper.setAttribute("width", "100%");
  paper.setAttribute("height", "100%");
  paper.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  copied.prepend(paper);
  return new XMLSerializer().serializeToString(copied);
}

// The picture is looked up when the button is used, since it may be drawn again.
export const svgButton = (name, find, label = "Download SVG") =>
  action(label, () => find() && download(standalone(find()), `${name}.svg`, "image/svg+xml"));
