// Completion of names, with the number of facts that each occurs in.

import { call } from "./api.js";
import { $, count, el } from "./elements.js";

const PAUSE = 120; // milliseconds without typing before names are asked for

export function complete(id, listId, kind) {
  const input = $(id);
  let timer, latest = 0;
  const ask = async () => {
    const mine = ++latest;
    try {
      const { names } = await call(`/v1/names?kind=${kind}&limit=12&q=${encodeURIComponent(input.value)}`);
      if (mine !== latest) return;
      $(listId).replaceChildren(...names.map(({ name, facts }) => el("option", { value: name, label: `${name} (${count(facts, "fact")})` })));
    } catch { /* asking the question reports the problem */ }
  };
  input.addEventListener("focus", ask); // the most frequent names before anything is typed
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, PAUSE);
  });
}
