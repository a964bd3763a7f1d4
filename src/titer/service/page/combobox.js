// A text field that completes names: a list of matching names, each with the number of its facts.

import { call } from "./api.js";
import { $, count, el } from "./elements.js";

const LIMIT = 10;

export function complete(id, kind) {
  const input = $(id);
  const list = el("ul", { class: "options", role: "listbox", id: `${id}-options`, hidden: "", "aria-label": "Names" });
  let latest = 0, active = -1;
  for (const [name, value] of Object.entries({
    role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id,
    autocomplete: "off", spellcheck: "false",
  })) input.setAttribute(name, value);
  input.after(list);

  const close = () => {
    latest += 1; // a response that is still under way must not open the list again
    active = -1;
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };

  const choose = (name) => {
    const changed = input.value !== name;
    input.value = name;
    close();
    if (changed) input.dispatchEvent(new Event("change", { bubbles: true }));
  };

  const move = (step) => {
    const options = [...list.children];
    if (!options.length) return;
    active = (active + step + options.length + (active < 0 && step < 0 ? 1 : 0)) % options.length;
    options.forEach((option, i) => option.setAttribute("aria-selected", String(i === active)));
    options[active].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", options[active].id);
  };

  // Only the response to what was typed last is shown.
  const ask = async () => {
    const mine = ++latest;
    let names = [];
    try {
      ({ names } = await call(`/v1/names?kind=${kind}&limit=${LIMIT}&q=${encodeURIComponent(input.value)}`));
    } catch { /* asking the question reports the problem */ }
    if (mine !== latest || document.activeElement !== input) return;
    list.replaceChildren(...names.map(({ name, facts }, i) => el("li", {
      role: "option", id: `${id}-option-${i}`, "aria-selected": "false", "aria-label": `${name}, ${count(facts, "fact")}`,
      mousedown: (event) => event.preventDefault(), // the field keeps the focus
      click: () => choose(name),
    }, el("span", {}, name), el("span", { class: "number" }, facts.toLocaleString("en")))));
    active = -1;
    input.removeAttribute("aria-activedescendant");
    list.hidden = !names.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
  };

  input.addEventListener("input", ask);
  input.addEventListener("click", () => list.hidden && ask()); // the most frequent names before anything is typed
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) ask(); else move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && !list.hidden && active >= 0) {
      event.preventDefault();
      choose(list.children[active].firstChild.textContent);
    } else if (event.key === "Enter") {
      close();
    } else if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      close();
    }
  });
}
