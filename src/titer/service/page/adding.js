// Add facts: a form for those who have the token, which the browser keeps and sends with every request.

import { call } from "./api.js";
import { complete } from "./combobox.js";
import { $, capital, count, dateWords, el } from "./elements.js";
import { eventList } from "./events.js";
import { factLine, factsByDate } from "./facts.js";
import { askAboutNew, button, refusal, say, unknownEntities, useButton } from "./forms.js";
import { address } from "./navigation.js";
import { overview, refresh, usualWindow } from "./overview.js";
import { forget } from "./whether.js";

const PARTS = ["subject", "relation", "object", "time"], LATELY = 12, TOP = 8;

export const title = () => "Add facts";

export function clear() {
  $("add-result").replaceChildren();
}

export async function show(isCurrent) {
  const [{ read_only: readOnly }] = await Promise.all([overview(), showDate()]);
  if (!isCurrent()) return;
  $("add").hidden = readOnly;
  $("add-note").replaceChildren(...(readOnly
    ? ["This service is read-only. Start it with a token to add facts: ", el("code", {}, "titer serve RUN --token …")]
    : ["Facts are stored, and used by the forecasts from then on. To remove the last addition: ", el("code", {}, "titer facts undo RUN"),
      ". To try something out without storing it, ask a question and use ", el("a", { href: "/question" }, "what if"), "."]));
  if (!$("add-result").childElementCount) await showLately(isCurrent);
}

// The date of the last known fact: a fact on the day after it would end that day for the forecasts.
async function showDate() {
  $("add-time").placeholder = (await call("/v1/model")).last;
}

async function showLately(isCurrent) {
  const { facts } = await call(address("/v1/past-events", { limit: String(LATELY) }));
  if (isCurrent()) $("add-result").replaceChildren(el("section", { class: "spread" }, el("h2", {}, "Latest known facts"), factsByDate(facts)));
}

async function submit(fact, { sure, ...accepted } = {}) {
  $("add-button").disabled = true;
  try {
    // A name that is not known becomes a new entity, which a slip must not do unnoticed.
    const unknown = sure ? [] : await unknownEntities(fact);
    if (unknown.length) {
      return askAboutNew("add", unknown, ["Add as a new entity", "Add as new entities"], () => submit(fact, { ...accepted, sure: true }));
    }
    const added = await call("/v1/facts", { facts: [fact], ...accepted });
    await showAdded(fact, added);
  } catch (error) {
    showRefusal(fact, error, { sure, ...accepted });
  } finally {
    $("add-button").disabled = false;
  }
}

// What the service refuses unless it is told to accept it, and the button that does so.
const ACCEPTED = [
  { refusal: /; only a backfill .*$/, label: "Add it to the past", option: "backfill" },
  { refusal: /; allow_future .*$/, label: "Add it all the same", option: "allow_future" },
];

// The service names the place of the fact in a list and its own options, neither of which the form has.
function inWords(line) {
  const words = line.replace(/^facts, row 1(, column '\w+')?: /, "");
  return ACCEPTED.reduce((text, { refusal: part }) => text.replace(part, "."), words);
}

function showRefusal(fact, error, options) {
  const lines = [error.message, ...(error.details ?? [])], similar = /did you mean '(.+)'\?$/.exec(error.message);
  const use = (name) => { $("add-relation").value = name; say("add-said"); $("add-button").focus(); };
  const names = error.suggestions?.length ? error.suggestions : similar ? [similar[1]] : [];
  const possible = ACCEPTED.filter(({ refusal: part }) => lines.some((line) => part.test(line)));
  say("add-said", refusal(lines.map(inWords), ...names.map((name) => useButton(name, use)),
    ...possible.map(({ label, option }) => button(label, () => submit(fact, { ...options, [option]: true })))));
}

// The new fact, and what is likely for its entities now.
async function showAdded(fact, { added, known, new_entities: fresh }) {
  refresh();
  forget();
  showDate();
  say("add-said", el("p", { class: "good" }, added ? "Added: " : "Known already: ", factLine(fact), `, ${dateWords(fact.time)}.`,
    ...(fresh.length ? [` ${count(fresh.length, "entity").replace("entitys", "entities")} without a fact in training: ${fresh.join(", ")}.`] : []),
    ...(known && !added ? [" Nothing was changed."] : [])));
  $("add-object").value = "";
  $("add-subject").focus();
  const place = el("div", {}, el("p", { class: "loading" }, "Forecasting…"));
  const { facts } = await call(address("/v1/past-events", { entity: fact.subject, limit: String(LATELY) }));
  const head = el("p", { class: "note" });
  $("add-result").replaceChildren(el("div", { class: "halves" },
    el("section", {}, el("h2", {}, `Likely next for ${fact.subject}`), head, place),
    el("section", {}, el("h2", {}, `Known facts of ${fact.subject}`), factsByDate(facts))));
  const within = await usualWindow(), isShown = () => place.isConnected && !$("adding").hidden;
  try {
    const forecast = await call(address("/v1/events", { entity: fact.subject, within: String(within), top: String(TOP) }));
    head.textContent = capital(forecast.window);
    place.replaceChildren(eventList(forecast, isShown));
  } catch (error) {
    place.replaceChildren(el("p", { class: "bad" }, error.message));
  }
}

complete("add-subject", ["entity"]);
complete("add-relation", ["relation"]);
complete("add-object", ["entity"]);
$("add").addEventListener("submit", (event) => {
  event.preventDefault();
  const fact = Object.fromEntries(PARTS.map((part) => [part, $(`add-${part}`).value.trim()]));
  submit({ ...fact, time: fact.time || $("add-time").placeholder });
});
