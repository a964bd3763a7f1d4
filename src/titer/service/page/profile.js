// The past and the likely future of one entity, or of one relation.

import { call } from "./api.js";
import { timelineChart } from "./charts.js";
import { $, capital, count, el } from "./elements.js";
import { eventList } from "./events.js";
import { svgButton } from "./export.js";
import { countedNames, entityLink, factsByDate, pairLine, relationLink } from "./facts.js";
import { address, parameter } from "./navigation.js";
import { usualWindow } from "./overview.js";

const TOP = 8, LATELY = 12;

export const title = () => parameter("name") || "Unknown";

export const clear = () => $("profile").replaceChildren();

const section = (name, ...parts) => el("section", {}, el("h2", {}, name), ...parts);
const entityNames = (names) => countedNames(names, ({ name }) => entityLink(name));
const relationNames = (names) => countedNames(names, ({ name }) => relationLink(name));

export async function show(isCurrent) {
  const isEntity = location.pathname === "/entity", name = parameter("name");
  if (!$("profile").dataset.name || $("profile").dataset.name !== name) {
    $("profile").replaceChildren(el("p", { class: "loading" }, "Loading…"));
  }
  const kind = isEntity ? "entity" : "relation";
  const [past, { facts }] = await Promise.all([
    call(address(`/v1/${kind}`, { name })), call(address("/v1/past-events", { [kind]: name, limit: String(LATELY) })),
  ]);
  if (!isCurrent()) return;
  $("profile").dataset.name = name;
  $("title").textContent = document.title = past.name; // a prefix was given, perhaps
  const next = isEntity ? entityPage(past, facts) : relationPage(past, facts);
  $("status").textContent = `${past.name}: ${count(past.facts, "fact")}.`;
  // The known past is shown already while the forecast is computed.
  const within = await usualWindow();
  for (const [place, parameters] of next) {
    try {
      const forecast = await call(address("/v1/events", { ...parameters, within: String(within), top: String(TOP) }));
      if (!isCurrent()) return;
      $("profile").querySelector(".window").textContent = capital(forecast.window);
      place.replaceChildren(eventList(forecast, isCurrent));
    } catch (error) {
      place.replaceChildren(el("p", { class: "bad" }, error.message)); // the past remains worth reading
    }
  }
}

function intro({ facts, first, last, each, last_bar: lastBar, timeline, name }) {
  const words = facts ? `${count(facts, "fact")} from ${first} to ${last}.` : "No known fact.";
  if (!facts) return [el("p", { class: "lead" }, words)];
  const chart = timelineChart(timeline, `Facts with ${name} over time`);
  return [el("p", { class: "lead" }, words), section("Timeline", chart,
    el("p", { class: "note" }, `Number of facts; each bar is ${each}${lastBar === each ? "" : `, the last one ${lastBar}`}.`),
    el("p", { class: "actions" }, svgButton("timeline", () => chart.querySelector("svg"))))];
}

const allLikely = (filter) => el("p", {}, el("a", { href: address("/", filter) }, `All likely events with ${Object.values(filter)[0]}`));

const waiting = () => el("div", {}, el("p", { class: "loading" }, "Forecasting…"));

const besideLately = (facts, ...lists) => el("div", { class: "columns" }, el("div", { class: "thirds" }, ...lists),
  el("div", { class: "beside" }, section("Lately", factsByDate(facts))));

function entityPage(past, facts) {
  const does = waiting(), receives = waiting();
  $("profile").replaceChildren(...intro(past),
    section("Likely next", el("p", { class: "note window" }), el("div", { class: "halves" },
      el("section", {}, el("h3", {}, `By ${past.name}`), does), el("section", {}, el("h3", {}, `To ${past.name}`), receives)), allLikely({ entity: past.name })),
    besideLately(facts, section("Usual partners", entityNames(past.partners)),
      section("Is the subject of", relationNames(past.does)), section("Is the object of", relationNames(past.receives))));
  return [[does, { subject: past.name }], [receives, { object: past.name }]];
}

function relationPage(past, facts) {
  const next = waiting();
  $("profile").replaceChildren(...intro(past), section("Likely next", el("p", { class: "note window" }), next, allLikely({ relation: past.name })),
    besideLately(facts, section("Subjects", entityNames(past.subjects)),
      section("Objects", entityNames(past.objects)), section("Pairs", countedNames(past.pairs, pairLine))));
  return [[next, { relation: past.name }]];
}
