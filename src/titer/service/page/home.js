// Home: the most likely events of the next time steps, what happened lately, and how good the forecasts have been.

import { call } from "./api.js";
import { complete } from "./combobox.js";
import { $, capital, count, el } from "./elements.js";
import { eventList, hasLift, listed } from "./events.js";
import { factsByDate } from "./facts.js";
import { address, entityAddress, navigate, parameter, relationAddress } from "./navigation.js";
import { overview, usualWindow } from "./overview.js";
import { checkWindows, sentence } from "./record.js";

const TOP = 25, LATELY = 25;
const CHANGES = ["ends", "begins", "new"]; // of facts that last
const KINDS = { changes: "what changes", any: "any kind", repeats: "happens again", new: "for the first time", continues: "continues", begins: "begins", ends: "ends" };
const TITLES = { changes: "Most likely changes", new: "Most likely for the first time", continues: "Most likely to continue", begins: "Most likely to begin", ends: "Most likely to end" };
let usual = ""; // the window that needs no parameter in the address
let usualKind = "any"; // the kind that needs none

export const title = () => "What happens next?";

export function clear() {
  $("forecasts").hidden = true; // headings without content would tell nothing
  $("filtered").hidden = true;
  $("window").textContent = "";
  $("likely").replaceChildren();
  $("lately").replaceChildren();
}

const NAMES = ["entity", "relation", "kind", "within", "sort"];

export async function show(isCurrent) {
  const { entity, relation, within, sort, ...chosen } = Object.fromEntries(NAMES.map((name) => [name, parameter(name)]));
  const loading = (words) => el("p", { class: "loading" }, words);
  $("forecasts").hidden = false;
  $("who").value = entity;
  $("what").value = relation;
  $("sort").value = sort === "lift" ? "lift" : "probability";
  if (!$("likely").childElementCount) $("likely").replaceChildren(loading("Forecasting…"));
  if (!$("lately").childElementCount) $("lately").replaceChildren(loading("Loading…"));
  usual = String(await usualWindow());
  const { windows, lasting } = await overview();
  if (!isCurrent()) return;
  const steps = within || usual;
  fill("within", windows.map((one) => [String(one.steps), one.words]), steps);
  // Where facts last, nearly all of the most likely events only continue.
  usualKind = lasting ? "changes" : "any";
  const kind = chosen.kind || usualKind, ofEvents = ["any", "repeats", "new"];
  fill("kind", Object.entries(KINDS).filter(([name]) => lasting || ofEvents.includes(name)), kind);
  // Known facts need no forecast, so they are shown first.
  call(address("/v1/past-events", { entity, relation, limit: String(LATELY) })).then(
    ({ facts }) => isCurrent() && $("lately").replaceChildren(factsByDate(facts)),
    (error) => isCurrent() && $("lately").replaceChildren(el("p", { class: "bad" }, error.message)));
  const forecast = listed(await likelyEvents(kind, { entity, relation, within: steps, sort, top: String(TOP) }));
  if (!isCurrent()) return;
  $("likely-title").textContent = sort === "lift" ? "Most unusual events" : TITLES[kind] ?? "Most likely events";
  $("window").textContent = `${capital(forecast.window)}: ${expectedWords(forecast)} expected.`;
  const about = [...(forecast.entity ? [[forecast.entity, entityAddress]] : []), ...(forecast.relation ? [[forecast.relation, relationAddress]] : [])];
  $("filtered").replaceChildren(...about.map(([name, place]) => el("a", { href: place(name) }, `About ${name}`)));
  $("filtered").hidden = !about.length;
  $("likely-note").hidden = !forecast.events.some((event) => hasLift(event, sort));
  $("likely").replaceChildren(eventList(forecast, isCurrent, advice({ entity, relation, kind: kind !== "any" }, forecast, windows)));
  $("status").textContent = `${count(forecast.events.length, "event")} for ${forecast.window}.`;
  showRecord(isCurrent);
}

// The service lists one kind at a time, or all.
async function likelyEvents(kind, parameters) {
  const one = (name) => call(address("/v1/events", { ...parameters, kind: name }));
  if (kind !== "changes") return one(kind === "any" ? "" : kind);
  const found = await Promise.all(CHANGES.map(one)), by = parameters.sort || "probability";
  const events = found.flatMap((each) => each.events).sort((first, second) => second[by] - first[by]).slice(0, Number(parameters.top));
  return {
    ...found[0], kind, expected: found.reduce((sum, each) => sum + each.expected, 0),
    events: events.map((event, i) => ({ ...event, rank: i + 1 })),
  };
}

function expectedWords({ expected, kind }) {
  const [few, several] = kind === "changes" ? ["changes", "changes"] : ["events", "different events"];
  if (expected < 0.05) return `fewer than 0.1 ${few}`;
  return `about ${expected < 10 ? expected.toFixed(1) : Math.round(expected).toLocaleString("en")} ${several}`;
}

// What leads to more events; empty if nothing does.
function advice(filters, { steps }, windows) {
  const found = [...(windows.some((one) => one.steps > steps) ? ["a longer window"] : []),
    ...(Object.values(filters).some(Boolean) ? ["fewer filters"] : [])];
  return found.length ? `Choose ${found.join(", or ")}.` : "";
}

// The forecast is shown already, so a failure here is not worth an alert.
function showRecord(isCurrent) {
  checkWindows(isCurrent, (state) => {
    if (!state.checked.length) return;
    $("how-good").replaceChildren(`${sentence(state)} `, el("a", { href: "/record" }, "See the record"));
    $("quality").hidden = false;
  }).catch(() => {});
}

function fill(id, choices, chosen) {
  const known = choices.some(([value]) => value === chosen);
  $(id).replaceChildren(...[...choices, ...(known ? [] : [[chosen, chosen]])].map(([value, words]) => el("option", { value }, words)));
  $(id).value = chosen;
}

function apply(event) {
  event.preventDefault();
  const next = address("/", {
    entity: $("who").value.trim(), relation: $("what").value.trim(), kind: $("kind").value === usualKind ? "" : $("kind").value,
    within: $("within").value === usual ? "" : $("within").value,
    sort: $("sort").value === "lift" ? "lift" : "",
  });
  if (next !== location.pathname + location.search) navigate(next); // a browser may send both events for one change
}

complete("who", ["entity"]);
complete("what", ["relation"]);
$("filters").addEventListener("change", apply);
$("filters").addEventListener("submit", apply);
