// What went wrong, and what to do about it.

import { $, el } from "./elements.js";
import { navigate } from "./navigation.js";

const TEMPORARY = new Set(["unreachable", "too_slow", "busy", "internal"]);

export function showProblem(error, retry) {
  const parameters = new URLSearchParams(location.search);
  // The message quotes the unknown name; of two parameters that it contains, the longer one is meant.
  const [wrong] = [...parameters].filter(([, value]) => value && error.message.includes(value))
    .sort(([, one], [, other]) => other.length - one.length);
  const fix = (name) => {
    if (wrong) parameters.set(wrong[0], name);
    navigate(`${location.pathname}?${parameters}`);
  };
  $("problem").replaceChildren(el("p", {}, error.message), ...(error.details ?? []).map((line) => el("p", {}, line)),
    ...(error.suggestions ?? []).map((name) => el("button", { type: "button", click: () => fix(name) }, name)),
    ...(TEMPORARY.has(error.code) ? [el("button", { type: "button", click: retry }, "Try again")] : []));
  $("problem").hidden = false;
}

export function hideProblem() {
  $("problem").hidden = true;
}
