// Home: the most likely events of the next time steps, and what happened lately.

import { call } from "./api.js";
import { complete } from "./completion.js";
import { $, capital, el } from "./elements.js";
import { eventList } from "./events.js";
import { factsByDate } from "./facts.js";
import { address, navigate, parameter } from "./navigation.js";
import { overview, usualWindow } from "./overview.js";

const TOP = 25, LATELY = 25;
let usual = ""; // the window that needs no parameter in the address

export const title = () => "What happens next?";

export function clear() {
  $("window").textContent = "";
  $("likely").replaceChildren();
  $("lately").replaceChildren();
}

const state = () => ({
  entity: parameter("entity"), relation: parameter("relation"), within: parameter("within"), sort: parameter("sort"),
});

export async function show(isCurrent) {
  const { entity, relation, within, sort } = state();
  const loading = (words) => el("p", { class: "loading" }, words);
  $("who").value = entity;
  $("what").value = relation;
  $("sort").value = sort === "lift" ? "lift" : "probability";
  if (!$("likely").childElementCount) $("likely").replaceChildren(loading("Forecasting…"));
  if (!$("lately").childElementCount) $("lately").replaceChildren(loading("Loading…"));
  usual = String(await usualWindow());
  const { windows } = await overview();
  if (!isCurrent()) return;
  const steps = within || usual;
  fillWindows(windows, steps);
  // Known facts need no forecast, so they are shown first.
  call(address("/v1/past-events", { entity, relation, limit: String(LATELY) })).then(
    ({ facts }) => isCurrent() && $("lately").replaceChildren(factsByDate(facts)),
    (error) => isCurrent() && $("lately").replaceChildren(el("p", { class: "bad" }, error.message)));
  const forecast = await call(address("/v1/events", { entity, relation, within: steps, sort, top: String(TOP) }));
  if (!isCurrent()) return;
  $("likely-title").textContent = sort === "lift" ? "Most unusual events" : "Most likely events";
  const expected = forecast.expected < 10 ? forecast.expected.toFixed(1) : Math.round(forecast.expected).toLocaleString("en");
  $("window").textContent = `${capital(forecast.window)}: about ${expected} different events expected.`;
  $("likely").replaceChildren(eventList(forecast));
  $("status").textContent = `${forecast.events.length} events for ${forecast.window}.`;
}

function fillWindows(windows, chosen) {
  const steps = windows.map((one) => String(one.steps));
  const other = steps.includes(chosen) ? [] : [{ steps: chosen, words: chosen }];
  $("within").replaceChildren(...[...windows, ...other].map(({ steps: value, words }) => el("option", { value }, words)));
  $("within").value = chosen;
}

function apply(event) {
  event.preventDefault();
  const next = address("/", {
    entity: $("who").value.trim(), relation: $("what").value.trim(),
    within: $("within").value === usual ? "" : $("within").value,
    sort: $("sort").value === "lift" ? "lift" : "",
  });
  if (next !== location.pathname + location.search) navigate(next); // a browser may send both events for one change
}

complete("who", "whos", "entity");
complete("what", "whats", "relation");
$("filters").addEventListener("change", apply);
$("filters").addEventListener("submit", apply);
