// The evidence for one answer: a picture whose facts can be selected, and the reasons in words.

import { picture } from "./api.js";
import { $, el, percent } from "./elements.js";
import { svgButton } from "./export.js";
import { reasonList, worthShowing } from "./reasons.js";

export async function showEvidence(forecast, answer, onLeaveOut, isCurrent) {
  const reasons = worthShowing(answer.reasons);
  const drawn = reasons.some((reason) => reason.facts.length)
    ? await picture({ ...forecast, answers: [{ ...answer, reasons }] }, answer.rank) : null;
  if (!isCurrent()) return;
  for (const group of drawn?.querySelectorAll("[data-fact]") ?? []) {
    const fact = reasons[group.dataset.reason].facts[group.dataset.fact];
    const choose = (event) => {
      if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      onLeaveOut([fact]);
    };
    group.dataset.key = fact.sentence;
    group.addEventListener("click", choose);
    group.addEventListener("keydown", choose);
  }
  $("explained").textContent = `Why ${answer.entity}? Rank ${answer.rank}, ${percent(answer.probability)}`;
  $("timeline").replaceChildren(...(drawn ? [drawn] : []));
  $("hint").hidden = !drawn;
  $("reasons").replaceChildren(reasons.length ? reasonList(reasons, onLeaveOut)
    : el("p", { class: "empty" }, "The model has no evidence to show for this answer."));
  $("shares").hidden = !reasons.length;
  $("evidence-actions").replaceChildren(...(drawn ? [svgButton("evidence", () => $("timeline").querySelector("svg"))] : []));
  $("evidence").hidden = false;
  scrollToFacts($("timeline"));
  $("status").textContent += ` ${$("explained").textContent}.`;
}

// On a narrow screen the latest fact is shown, with as much before it as fits: the names are at the left end.
function scrollToFacts(box) {
  box.scrollLeft = 0;
  const right = Math.max(0, ...[...box.querySelectorAll("[data-fact]")].map((fact) => fact.getBoundingClientRect().right));
  box.scrollLeft = right - box.getBoundingClientRect().right + 16;
  keepNames(box);
}

// Names that are scrolled out of view move along, to above their lanes and in front of the facts.
function keepNames(box) {
  const drawn = box.querySelector("svg");
  if (!drawn) return;
  const edge = box.scrollLeft * drawn.viewBox.baseVal.width / drawn.getBoundingClientRect().width + 6;
  for (const name of drawn.querySelectorAll(".name")) {
    const hidden = edge - name.getBBox().x;
    if (hidden <= 6) name.removeAttribute("transform");
    else {
      name.setAttribute("transform", `translate(${hidden.toFixed(1)} -11)`);
      if (name.nextElementSibling?.matches(":not(.name)")) drawn.append(name);
    }
  }
}

$("timeline").addEventListener("scroll", () => keepNames($("timeline")));
