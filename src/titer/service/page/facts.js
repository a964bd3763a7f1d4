// Facts in a line, with links to their entities and relation, and lists of them.

import { count, el } from "./elements.js";
import { entityAddress, relationAddress } from "./navigation.js";

export const entityLink = (name) => el("a", { class: "entity", href: entityAddress(name) }, name);
export const relationLink = (name) => el("a", { class: "relation", href: relationAddress(name) }, name);

export const factLine = ({ subject, relation, object }) =>
  el("span", { class: "fact-line" }, entityLink(subject), " ", relationLink(relation), " ", entityLink(object));

export const pairLine = ({ subject, object }) =>
  el("span", { class: "fact-line" }, entityLink(subject), ", ", entityLink(object));

// Known facts, latest first, under a heading for each date.
export function factsByDate(facts) {
  if (!facts.length) return el("p", { class: "empty" }, "No known fact matches.");
  const days = new Map();
  for (const fact of facts) days.set(fact.date, [...(days.get(fact.date) ?? []), fact]);
  return el("div", { class: "days" }, ...[...days].flatMap(([date, list]) => [
    el("h3", { class: "date" }, date), el("ul", {}, ...list.map((fact) => el("li", {}, factLine(fact)))),
  ]));
}

// Names with the number of their facts, as bars of proportional length.
export function countedNames(names, link) {
  if (!names.length) return el("p", { class: "empty" }, "None so far.");
  const most = names[0].facts;
  return el("ol", { class: "counted" }, ...names.map((one) => el("li", {},
    link(one), el("meter", { min: 0, max: most, value: one.facts, "aria-label": "share of the largest number" }),
    el("span", { class: "number", title: count(one.facts, "fact") }, one.facts.toLocaleString("en")))));
}
