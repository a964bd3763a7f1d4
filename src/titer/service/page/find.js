// The search field beside the menu: opens the view of an entity or a relation.

import { complete } from "./combobox.js";
import { $ } from "./elements.js";
import { entityAddress, navigate, relationAddress } from "./navigation.js";

function open({ name, kind }) {
  $("find-name").value = "";
  $("find-name").blur();
  navigate(kind === "relation" ? relationAddress(name) : entityAddress(name));
}

const matches = complete("find-name", ["entity", "relation"], open);
$("find").addEventListener("submit", async (event) => {
  event.preventDefault();
  const typed = $("find-name").value.trim();
  if (!typed) return;
  const found = await matches().catch(() => []);
  // The view of an unknown entity says that it is unknown, and suggests similar names.
  open(found.find(({ name }) => name.toLowerCase() === typed.toLowerCase()) ?? found[0] ?? { name: typed, kind: "entity" });
});
