// Add facts: a form for those who have the token, which the browser keeps and sends with every request.

import { call } from "./api.js";
import { complete } from "./combobox.js";
import { $, capital, count, el } from "./elements.js";
import { eventList } from "./events.js";
import { factLine, factsByDate } from "./facts.js";
import { address } from "./navigation.js";
import { overview, refresh, usualWindow } from "./overview.js";
import { forget } from "./whether.js";

const PARTS = ["subject", "relation", "object", "time"], LATELY = 12, TOP = 8;

export const title = () => "Add facts";

export function clear() {
  $("add-result").replaceChildren();
}

export async function show(isCurrent) {
  const { read_only: readOnly, next } = await overview();
  if (!isCurrent()) return;
  $("add").hidden = readOnly;
  $("add-note").replaceChildren(...(readOnly
    ? ["This service is read-only. Start it with a token to add facts: ", el("code", {}, "titer serve RUN --token …")]
    : ["Facts are stored, and used by the forecasts from then on. To remove the last addition: ", el("code", {}, "titer facts undo RUN"),
      ". To try something out without storing it, ask a question and use ", el("a", { href: "/question" }, "what if"), "."]));
  $("add-time").placeholder = next;
  if (!$("add-result").childElementCount) await showLately(isCurrent);
}

async function showLately(isCurrent) {
  const { facts } = await call(address("/v1/past-events", { limit: String(LATELY) }));
  if (isCurrent()) $("add-result").replaceChildren(el("section", {}, el("h2", {}, "Latest known facts"), factsByDate(facts)));
}

// Names that are not known become new entities, which a slip must not do unnoticed.
async function unknownNames(fact) {
  const found = await Promise.all(["subject", "object"].map(async (part) => {
    const { names } = await call(address("/v1/names", { kind: "entity", q: fact[part], limit: "50" }));
    return names.some(({ name }) => name === fact[part]) ? null : { part, name: fact[part], names: names.slice(0, 5) };
  }));
  return found.filter(Boolean);
}

function say(...parts) {
  $("add-said").replaceChildren(...parts);
  $("status").textContent = $("add-said").textContent;
}

async function submit(fact, { backfill = false, sure = false } = {}) {
  $("add-button").disabled = true;
  try {
    const unknown = sure ? [] : await unknownNames(fact);
    if (unknown.length) return askAboutNew(fact, unknown, backfill);
    const added = await call("/v1/facts", { facts: [fact], backfill });
    await showAdded(fact, added);
  } catch (error) {
    showRefusal(fact, error, sure);
  } finally {
    $("add-button").disabled = false;
  }
}

const button = (words, click) => el("button", { type: "button", click }, words);

function askAboutNew(fact, unknown, backfill) {
  say(el("div", { class: "question-box" }, ...unknown.flatMap(({ part, name, names }) => [
    el("p", {}, `“${name}” is not known yet.`),
    ...names.map((one) => button(one.name, () => { $(`add-${part}`).value = one.name; say(); $("add-button").focus(); })),
  ]), el("p", {}, button(unknown.length > 1 ? "Add as new entities" : "Add as a new entity", () => submit(fact, { backfill, sure: true })))));
  $("add-said").querySelector("button").focus();
}

function showRefusal(fact, error, sure) {
  const early = /--backfill|before the last known/.test([error.message, ...(error.details ?? [])].join(" "));
  say(el("div", { class: "question-box bad-box", role: "alert" }, el("p", {}, error.message), ...(error.details ?? []).map((line) => el("p", {}, line)),
    ...(error.suggestions ?? []).map((name) => button(name, () => { $("add-relation").value = name; say(); $("add-button").focus(); })),
    ...(early ? [button("Add it to the past", () => submit(fact, { backfill: true, sure }))] : [])));
}

// The new fact, and what is likely for its entities now.
async function showAdded(fact, { added, known, new_entities: fresh }) {
  refresh();
  forget();
  say(el("p", { class: "good" }, added ? "Added: " : "Known already: ", factLine(fact), `, ${fact.time}.`,
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

complete("add-subject", "entity");
complete("add-relation", "relation");
complete("add-object", "entity");
$("add").addEventListener("submit", (event) => {
  event.preventDefault();
  const fact = Object.fromEntries(PARTS.map((part) => [part, $(`add-${part}`).value.trim()]));
  submit({ ...fact, time: fact.time || $("add-time").placeholder });
});
