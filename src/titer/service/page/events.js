// A list of likely events: probability, lift, one line of evidence, and more evidence on request.

import { call } from "./api.js";
import { capital, chance, count, el, svg } from "./elements.js";
import { copyButtons, eventRows } from "./export.js";
import { factLine } from "./facts.js";
import { address } from "./navigation.js";
import { eventReasons } from "./reasons.js";

const EVIDENCE = 3;
const MIN_LISTED = 0.005; // what is less likely would be a long list of events that do not happen

const LASTING = new Set(["continues", "begins", "ends"]);

let rows = 0; // every row has a number, for the id of its evidence

// The forecast with the events that are worth listing.
export const listed = (forecast) => ({ ...forecast, events: forecast.events.filter(({ probability }) => probability >= MIN_LISTED) });

export function eventList(found, isCurrent, advice = "") {
  const forecast = listed(found);
  if (!forecast.events.length) return el("p", { class: "empty" }, `No event is likely enough to be listed.${advice && ` ${advice}`}`);
  const list = el("div", {}, el("ol", { class: "events" }));
  extendList(list, forecast, isCurrent);
  return list;
}

// Adds the rows that a longer forecast has, and copies all of it from then on. Returns the first new row.
export function extendList(list, found, isCurrent) {
  const forecast = listed(found), rows = list.querySelector("ol");
  const made = forecast.events.slice(rows.childElementCount).map((event) => row(event, forecast));
  rows.classList.toggle("lasting", forecast.events.some(({ kind }) => LASTING.has(kind)));
  rows.append(...made.map((one) => one.node));
  list.querySelector(".actions")?.remove();
  list.append(copyButtons("events", eventRows(forecast), forecast));
  explainVisible(made, isCurrent);
  return made[0]?.node;
}

// Rows get their evidence when they come near the screen, one by one while `isCurrent()`, so that other questions need not
// wait long.
function explainVisible(made, isCurrent) {
  const waiting = [];
  let isBusy = false;
  const explainAll = async () => {
    if (isBusy) return;
    isBusy = true;
    try {
      while (waiting.length && isCurrent()) await waiting.shift().explain();
    } catch {
      near.disconnect(); // the button "Why?" reports the problem
    }
    isBusy = false;
  };
  const near = new IntersectionObserver((entries) => {
    for (const { target } of entries.filter((entry) => entry.isIntersecting)) {
      near.unobserve(target);
      waiting.push(made.find(({ node }) => node === target));
    }
    explainAll();
  }, { rootMargin: "100% 0%" });
  for (const { node } of made) near.observe(node);
}

// The event with its evidence. Whether a fact that holds ends is a question of its own: it is likely to go on.
async function explained({ subject, relation, object, kind }, window) {
  if (kind !== "ends") return (await call(address("/v1/likely", { subject, relation, object, ...window }))).event;
  return (await call(address("/v1/events", { subject, relation, object, ...window, kind, top: "1" }))).events[0];
}

function row(event, { start, steps }) {
  const { subject, relation, object } = event;
  let asked = null;
  const explain = () => (asked ??= explained(event, { from: start, within: String(steps), explain: String(EVIDENCE) }).then(
    (found) => { note.textContent = lineOf(event, found); return found; },
    (error) => { asked = null; throw error; }));
  const more = el("div", { class: "more", id: `more-${++rows}`, hidden: "" });
  const note = el("p", { class: "note" }, past(event));
  const button = el("button", {
    type: "button", class: "quiet", "aria-expanded": "false", "aria-controls": more.id,
    "aria-label": `Why? ${subject}, ${relation}, ${object}`, click: () => toggle(button, more, note, event, explain),
  }, "Why?");
  const node = el("li", {},
    el("div", { class: "chance" }, el("span", { class: "number" }, chance(event.probability)), bar(event)),
    el("div", { class: "what" }, factLine(event), note),
    el("span", { class: "lift", title: event.rate }, ...remarks(event)), button, more);
  return { node, explain, event };
}

// The bar is the probability; the mark, which is higher than the bar, is the usual one. Nothing is usual about a first time.
const bar = ({ probability, usual }) => svg("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" },
  svg("rect", { class: "guide-bar", y: 3, width: 100, height: 6 }), svg("rect", { class: "first", y: 3, width: 100 * probability, height: 6 }),
  ...(usual > 0 ? [svg("rect", { class: "usual", x: Math.min(97.5, 100 * usual), width: 2.5, height: 12 })] : []));

const lift = ({ lift: value, times }) => (times === 0 ? "new" : value === null ? "" : value >= 9.95 ? `${value.toFixed(0)}×` : `${value.toFixed(1)}×`);

const remarks = (event) => [...(LASTING.has(event.kind) ? [el("span", { class: "kind" }, event.kind), " "] : []), lift(event)];

// The second part of the rate is the lift, which has a column of its own. What holds now was most recently known one step ago.
export function past({ times, last, rate, kind }) {
  if (!last) return "Never before";
  const usual = rate.split(",")[0];
  if (!LASTING.has(kind)) return `${count(times, "time")} before, most recently ${last.date}; ${usual}`;
  return capital(usual) + (kind === "begins" ? `, most recently ${last.date}` : "");
}

// The strongest evidence, unless it is the same fact: then the number of its occurrences is more informative.
function lineOf(event, { causes, reasons }) {
  const same = (fact) => ["subject", "relation", "object"].every((part) => fact[part] === event[part]);
  const [best] = [...causes.slice(0, 1), ...reasons.slice(0, 1)].filter(({ facts }) => facts.length && !facts.every(same));
  return best && (event.times === 0 || !causes[0]?.facts.every(same)) ? best.text : past(event);
}

async function toggle(button, more, note, event, explain) {
  const open = button.getAttribute("aria-expanded") !== "true";
  button.setAttribute("aria-expanded", String(open));
  more.hidden = !open;
  if (!open || more.dataset.filled) return;
  more.replaceChildren(el("p", { class: "loading" }, "Looking for evidence…"));
  const { subject, relation, object } = event;
  try {
    const found = await explain();
    more.dataset.filled = "yes";
    more.replaceChildren(...(note.textContent === past(event) ? [] : [el("p", { class: "note" }, `${past(event)}.`)]), ...eventReasons({ ...found, kind: event.kind }), el("p", { class: "links" },
      el("a", { href: address("/question", { subject, relation, object }) }, "When, and what if?"),
      el("a", { href: address("/question", { subject, relation }) }, "Who else?")));
  } catch (error) {
    more.replaceChildren(el("p", { class: "bad" }, error.message));
  }
}
