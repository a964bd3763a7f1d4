// A list of likely events: probability, lift, one line of evidence, and more evidence on request.

import { call } from "./api.js";
import { chance, count, el, svg, wholePercent } from "./elements.js";
import { copyButtons, eventRows } from "./export.js";
import { factLine } from "./facts.js";
import { address } from "./navigation.js";

const EVIDENCE = 3, WORTH_SHOWING = 0.005;

let rows = 0; // every row has a number, for the id of its evidence

export function eventList(forecast) {
  if (!forecast.events.length) {
    return el("p", { class: "empty" }, "No event is likely enough to be listed. Choose a longer window, or fewer filters.");
  }
  return el("div", {}, el("ol", { class: "events" }, ...forecast.events.map((event) => row(event, forecast))),
    copyButtons("events", eventRows(forecast.events), forecast));
}

function row(event, { start, steps }) {
  const more = el("div", { class: "more", id: `more-${++rows}`, hidden: "" });
  const names = `${event.subject}, ${event.relation}, ${event.object}`;
  const button = el("button", {
    type: "button", class: "quiet", "aria-expanded": "false", "aria-controls": more.id, "aria-label": `Why? ${names}`,
    click: () => toggle(button, more, event, start, steps),
  }, "Why?");
  return el("li", {},
    el("div", { class: "chance" }, el("span", { class: "number" }, chance(event.probability)), bar(event)),
    el("div", {}, factLine(event), el("p", { class: "note" }, evidence(event))),
    el("span", { class: "lift", title: event.rate }, lift(event)), button, more);
}

// The bar is the probability; the mark is the usual one.
const bar = ({ probability, usual }) => svg("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
  svg("rect", { class: "guide-bar", width: 100, height: 6 }), svg("rect", { class: "first", width: 100 * probability, height: 6 }),
  svg("rect", { class: "usual", x: Math.min(98.5, 100 * usual), width: 1.5, height: 6 }));

const lift = ({ lift: value, kind }) => (kind === "new" || value === null ? "new" : value >= 9.95 ? `${value.toFixed(0)}×` : `${value.toFixed(1)}×`);

// The second part of the rate is the lift, which has a column of its own.
const evidence = ({ times, last, rate }) =>
  (last ? `${count(times, "time")} before, last on ${last.date}; ${rate.split(",")[0]}` : "Never before");

async function toggle(button, more, event, start, steps) {
  const open = button.getAttribute("aria-expanded") !== "true";
  button.setAttribute("aria-expanded", String(open));
  more.hidden = !open;
  if (!open || more.dataset.filled) return;
  more.replaceChildren(el("p", { class: "loading" }, "Looking for evidence…"));
  const { subject, relation, object } = event;
  try {
    const parameters = { subject, relation, object, from: start, within: String(steps), explain: String(EVIDENCE) };
    const { event: found } = await call(address("/v1/likely", parameters));
    more.dataset.filled = "yes";
    more.replaceChildren(...reasonLists(found), el("p", {},
      el("a", { href: address("/question", { subject, relation, object }) }, "When?"), " · ",
      el("a", { href: address("/question", { subject, relation }) }, "With whom else?")));
  } catch (error) {
    more.replaceChildren(el("p", { class: "bad" }, error.message));
  }
}

// Causes (why something happens at all) and reasons (why with this object), strongest first.
export function reasonLists({ causes, reasons, object }) {
  const list = (title, items) => {
    const shown = items.filter((one) => one.share >= WORTH_SHOWING);
    return shown.length ? [el("h3", {}, title), el("ul", { class: "reasons" },
      ...shown.map(({ share, text }) => el("li", {}, el("span", { class: "number" }, wholePercent(share)), " ", el("span", {}, text))))] : [];
  };
  const found = [...list("What makes it likely now", causes), ...list(`Why ${object}`, reasons)];
  return found.length ? found : [el("p", { class: "empty" }, "The model has no evidence to show for this event.")];
}
