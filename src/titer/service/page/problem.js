// What went wrong, and what to do about it.

import { isChanged, unchanged } from "./changes.js";
import { $, el } from "./elements.js";
import { button, useButton } from "./forms.js";
import { navigate } from "./navigation.js";
import { readState, stateAddress } from "./state.js";

const TEMPORARY = new Set(["unreachable", "too_slow", "busy", "internal"]);

export function showProblem(error, retry) {
  const parameters = new URLSearchParams(location.search);
  // The message quotes the unknown name; of two parameters that it contains, the longer one is meant.
  const [wrong] = [...parameters].filter(([, value]) => value && error.message.includes(value))
    .sort(([, one], [, other]) => other.length - one.length);
  const fix = (name) => {
    if (wrong) parameters.set(wrong[0], name);
    else for (const key of ["without", "with"]) if (parameters.has(key)) parameters.set(key, renamed(parameters.get(key), error.message, name));
    navigate(`${location.pathname}?${parameters}`);
  };
  const state = readState();
  $("problem").replaceChildren(el("p", {}, error.message), ...(error.details ?? []).map((line) => el("p", {}, line)),
    ...(error.suggestions ?? []).map((name) => useButton(name, fix)),
    ...(isChanged(state) ? [button("Undo all changes", () => navigate(stateAddress(unchanged(state))))] : []),
    ...(TEMPORARY.has(error.code) ? [button("Try again", retry)] : []));
  $("problem").hidden = false;
}

// The facts of a what-if, with the name that the message quotes replaced.
const renamed = (facts, message, name) => JSON.stringify(JSON.parse(facts, (_, value) =>
  (typeof value === "string" && message.includes(`'${value}'`) ? name : value)));

export function hideProblem() {
  $("problem").hidden = true;
}
