// The state of the page is its address, so that everything shown can be linked to.

import { address } from "./navigation.js";

export const FIELDS = ["subject", "relation", "object", "at"];
const KEYS = [...FIELDS, "answer"];

export function readState() {
  const found = new URLSearchParams(location.search);
  const state = Object.fromEntries(KEYS.map((key) => [key, found.get(key) ?? ""]));
  let without = [];
  try { without = JSON.parse(found.get("without") ?? "[]"); } catch { /* a broken link asks the plain question */ }
  return { ...state, without: Array.isArray(without) ? without : [] };
}

export const stateAddress = (state) => address("/question", {
  ...Object.fromEntries(KEYS.map((key) => [key, state[key]])),
  without: state.without?.length ? JSON.stringify(state.without) : "",
});

// The question of a state, as the API expects it.
export const question = ({ subject, relation, object, at }) =>
  ({ relation, ...(subject && { subject }), ...(object && { object }), ...(at && { at }) });

// What decides the answers; the selected answer is not part of it.
export const sameQuestion = (one, other) =>
  JSON.stringify([question(one), one.without]) === JSON.stringify([question(other), other.without]);
