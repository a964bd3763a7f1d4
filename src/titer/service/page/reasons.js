// Evidence in words: each reason with its share, and a button that leaves its facts out of the history.

import { el, wholePercent } from "./elements.js";

const WORTH_SHOWING = 0.005; // a smaller share would be shown as 0%

export const worthShowing = (reasons) => reasons.filter((reason) => reason.share >= WORTH_SHOWING);

export function reasonList(reasons, onLeaveOut) {
  const rest = 1 - reasons.reduce((sum, reason) => sum + reason.share, 0);
  // The same lines as on the command line: the reasons worth showing, and all other evidence together.
  const lines = reasons.length && rest >= WORTH_SHOWING ? [...reasons, { share: rest, text: "weaker evidence", facts: [] }] : reasons;
  return el("ul", { class: "reasons" }, ...lines.map((reason) => el("li", {},
    el("span", { class: "number" }, wholePercent(reason.share)), " ", el("span", {}, reason.text), " ", leaveOutButtons(reason, onLeaveOut))));
}

// Evidence of several facts: the latest of them or all are left out. A path has no "all": its facts differ.
function leaveOutButtons({ facts, count, text }, onLeaveOut) {
  if (!onLeaveOut || !facts.length) return "";
  const sentences = facts.map((fact) => fact.sentence).join("; ");
  const button = (words, chosen) => el("button", {
    type: "button", class: "quiet", "data-key": `${words} ${text}`, "aria-label": `${words}: ${sentences}`, click: () => onLeaveOut(chosen),
  }, words);
  if (count === 1) return el("span", { class: "leave-out" }, button("Leave out", facts));
  const all = facts.length === 1 ? [button("Leave out all", facts.map(({ time, ...names }) => names))] : [];
  return el("span", { class: "leave-out" }, button("Leave out the latest", facts), ...all);
}

// Causes (why something happens at all), what speaks against it, and reasons (why with this object), strongest first.
export function eventReasons({ causes, against, reasons, object, kind }, onLeaveOut) {
  const part = (title, items, meaning) => {
    const shown = worthShowing(items);
    return shown.length ? [el("h3", {}, title), reasonList(shown, onLeaveOut), el("p", { class: "note" }, meaning)] : [];
  };
  const shares = (change) => `Percentages are shares of how much ${change} likely it would be without these facts.`;
  const found = [
    ...part(kind === "ends" ? "What makes its end likely" : "What makes it likely now", causes, shares("less")),
    ...part("What speaks against its end", against, shares("more")),
    ...part(`Why ${object}`, reasons, `Percentages divide the weight of ${object} as the answer before calibration.`),
  ];
  return found.length ? found : [el("p", { class: "empty" }, "The model has no evidence to show for this event.")];
}
