// The router: shows the view of the address, and reports what went wrong.

import * as adding from "./adding.js";
import { call } from "./api.js";
import { $, dateWords } from "./elements.js";
import "./find.js";
import * as home from "./home.js";
import { navigate, parameter } from "./navigation.js";
import { overview } from "./overview.js";
import { hideProblem, showProblem } from "./problem.js";
import * as profile from "./profile.js";
import * as question from "./question.js";
import * as record from "./record.js";

const VIEWS = { "/": home, "/entity": profile, "/relation": profile, "/question": question, "/record": record, "/facts": adding };
const PLACES = new Map([[home, "home"], [profile, "profile"], [question, "asking"], [record, "record"], [adding, "adding"]]);
let latest = 0; // only the latest request may write to the page
let before = null; // the place on the page: a view, and of which entity or relation

// Links to questions of earlier versions had no path.
function moveOldLink() {
  if (location.pathname === "/" && (parameter("subject") || parameter("object"))) {
    history.replaceState(null, "", `/question${location.search}`);
  }
}

async function show() {
  moveOldLink();
  const view = VIEWS[location.pathname] ?? home, mine = ++latest;
  const isCurrent = () => mine === latest;
  for (const [one, id] of PLACES) $(id).hidden = one !== view;
  for (const link of document.querySelectorAll("nav [data-view]")) {
    if (PLACES.get(view) === link.dataset.view) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  const place = location.pathname + (view === profile ? location.search : "");
  if (place !== before) {
    $("title").textContent = view.title();
    document.title = `${view.title()} – titer`;
    if (before) { scrollTo(0, 0); $("title").focus({ preventScroll: true }); }
    before = place;
  }
  $("main").setAttribute("aria-busy", "true");
  try {
    await view.show(isCurrent);
    if (isCurrent()) hideProblem();
  } catch (error) {
    if (!isCurrent()) return;
    view.clear();
    showProblem(error, show);
  } finally {
    if (isCurrent()) $("main").removeAttribute("aria-busy");
  }
}

// Links between views do not load the document again, unless the user wants a new tab.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const target = new URL(link.href);
  if (target.origin !== location.origin || !(target.pathname in VIEWS) || target.hash) return;
  event.preventDefault();
  navigate(target.pathname + target.search);
});
addEventListener("popstate", show);
show(); // before the first response, so that text typed meanwhile is kept

try {
  const about = await call("/v1/model");
  $("about").textContent = `${about.model}, trained on ${about.dataset}: ${about.facts.toLocaleString("en")} facts from ${dateWords(about.first)} to ${dateWords(about.last)}.`;
  $("at").placeholder = about.next;
  $("suppose-time").placeholder = about.last;
  document.querySelector('nav [data-view="adding"]').hidden = (await overview()).read_only;
} catch (error) {
  $("about").textContent = "";
  if ($("problem").hidden && !location.search) showProblem(error, show); // otherwise the view reports it
}
