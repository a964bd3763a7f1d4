// Home: the most likely events of the next time steps, what happened lately, and how good the forecasts have been.

import { call } from "./api.js";
import { reliabilityChart } from "./charts.js";
import { complete } from "./combobox.js";
import { $, capital, count, el } from "./elements.js";
import { eventList, extendList, listed } from "./events.js";
import { factsByDate } from "./facts.js";
import { address, entityAddress, navigate, parameter, relationAddress } from "./navigation.js";
import { overview, usualWindow } from "./overview.js";
import { checkWindows, pooled, sentence } from "./record.js";

const LATELY = 25;
const SIZES = [10, 25, 50, 100, 250, 500, 1000]; // of the list; the service gives no more
const NARROW = "(max-width: 44rem)";
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

const NAMES = ["entity", "relation", "kind", "within", "sort", "top"];

export async function show(isCurrent) {
  const { entity, relation, within, sort, top, ...chosen } = Object.fromEntries(NAMES.map((name) => [name, parameter(name)]));
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
  const asked = { entity, relation, within: steps, sort };
  const size = SIZES.find((one) => one >= Number(top || Infinity)) ?? (matchMedia(NARROW).matches ? SIZES[0] : SIZES[1]);
  const { forecast, hasMore } = await likelyEvents(kind, asked, size);
  if (!isCurrent()) return;
  $("likely-title").textContent = sort === "lift" ? "Most unusual events" : TITLES[kind] ?? "Most likely events";
  $("window").textContent = `${capital(forecast.window)}: ${expectedWords(forecast)} expected.`;
  const about = [...(forecast.entity ? [[forecast.entity, entityAddress]] : []), ...(forecast.relation ? [[forecast.relation, relationAddress]] : [])];
  $("filtered").replaceChildren(...about.map(([name, place]) => el("a", { href: place(name) }, `About ${name}`)));
  $("filtered").hidden = !about.length;
  $("likely-note").hidden = !forecast.events.length;
  const list = eventList(forecast, isCurrent, advice({ entity, relation, kind: kind !== "any" }, forecast, windows));
  $("likely").replaceChildren(list);
  if (hasMore) addMoreButton(list, size, (larger) => likelyEvents(kind, asked, larger), isCurrent);
  $("status").textContent = `${count(forecast.events.length, "event")} for ${forecast.window}.`;
  showRecord(isCurrent);
}

// The button that makes the list longer; the address has the length, so that the back button finds the same list.
function addMoreButton(list, size, load, isCurrent) {
  const button = el("button", { type: "button", click: async () => {
    button.disabled = true;
    try {
      const larger = SIZES[SIZES.indexOf(size) + 1], { forecast, hasMore } = await load(larger);
      if (!isCurrent()) return;
      const parameters = new URLSearchParams(location.search);
      parameters.set("top", String(larger));
      history.replaceState(null, "", `/?${parameters}`);
      extendList(list, forecast, isCurrent).querySelector("a").focus();
      $("status").textContent = `${count(forecast.events.length, "event")}.`;
      place.remove();
      if (hasMore) addMoreButton(list, larger, load, isCurrent);
    } catch (error) {
      button.disabled = false;
      place.append(el("p", { class: "bad", role: "alert" }, error.message));
    }
  } }, "Show more");
  const place = el("div", { class: "show-more" }, button);
  list.querySelector("ol").after(place);
}

// A list of some size, and whether there are more. The service lists one kind at a time, or all.
async function likelyEvents(kind, parameters, size) {
  const top = String(Math.min(size + 1, SIZES.at(-1))), by = parameters.sort || "probability";
  const kinds = kind === "changes" ? CHANGES : [kind === "any" ? "" : kind];
  const found = await Promise.all(kinds.map((one) => call(address("/v1/events", { ...parameters, kind: one, top }))));
  const { events, ...rest } = listed({ ...found[0], kind, events: found.flatMap((one) => one.events) });
  if (found.length > 1) events.sort((one, other) => other[by] - one[by]);
  return {
    forecast: {
      ...rest, expected: found.reduce((sum, one) => sum + one.expected, 0),
      events: events.slice(0, size).map((event, i) => ({ ...event, rank: i + 1 })),
    },
    hasMore: events.length > size,
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
    $("reliability").replaceChildren(reliabilityChart(pooled(state.checked), "Share of events that happened, by probability", true));
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
