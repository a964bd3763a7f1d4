// The state of the question view is its address, so that everything shown can be linked to.

import { address } from "./navigation.js";

export const FIELDS = ["subject", "relation", "object", "at"];
const KEYS = [...FIELDS, "answer"], CHANGES = ["without", "with"];

function readFacts(text) {
  try {
    const found = JSON.parse(text ?? "[]");
    return Array.isArray(found) ? found : [];
  } catch {
    return []; // an invalid link: the question is asked without changes of the facts
  }
}

export function readState() {
  const found = new URLSearchParams(location.search);
  return {
    ...Object.fromEntries(KEYS.map((key) => [key, found.get(key) ?? ""])),
    ...Object.fromEntries(CHANGES.map((key) => [key, readFacts(found.get(key))])),
  };
}

export const stateAddress = (state) => address("/question", {
  ...Object.fromEntries(KEYS.map((key) => [key, state[key]])),
  ...Object.fromEntries(CHANGES.map((key) => [key, state[key]?.length ? JSON.stringify(state[key]) : ""])),
});

// The question of a state, as the API expects it.
export const question = ({ subject, relation, object, at }) =>
  ({ relation, ...(subject && { subject }), ...(object && { object }), ...(at && { at }) });

// What decides the answers; the selected answer is not part of it.
const deciding = (state) => JSON.stringify([question(state), state.without, state.with]);
export const sameQuestion = (one, other) => deciding(one) === deciding(other);
