// The evidence for one answer: a picture whose facts can be chosen, and the reasons in words.

import { picture } from "./api.js";
import { $, el, percent, wholePercent } from "./elements.js";
import { svgButton } from "./export.js";

const WORTH_SHOWING = 0.005; // a smaller share would be shown as 0%

export async function showEvidence(forecast, answer, onFact, isCurrent) {
  const reasons = answer.reasons.filter((reason) => reason.share >= WORTH_SHOWING);
  const drawn = reasons.some((reason) => reason.facts.length)
    ? await picture({ ...forecast, answers: [{ ...answer, reasons }] }, answer.rank) : null;
  if (!isCurrent()) return;
  for (const group of drawn?.querySelectorAll("[data-fact]") ?? []) {
    const fact = reasons[group.dataset.reason].facts[group.dataset.fact];
    const choose = (event) => {
      if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      onFact(fact);
    };
    group.dataset.key = fact.sentence;
    group.addEventListener("click", choose);
    group.addEventListener("keydown", choose);
  }
  $("explained").textContent = `Why ${answer.entity}? Rank ${answer.rank}, ${percent(answer.probability)}`;
  $("timeline").replaceChildren(...(drawn ? [drawn] : []));
  $("hint").hidden = !drawn;
  const items = lines(reasons).map(({ share, text }) => el("li", {}, `${wholePercent(share)}: ${text}`));
  $("reasons").replaceChildren(...items);
  if (!reasons.length) $("reasons").append(el("li", {}, "The model has no evidence to show for this answer."));
  $("evidence-actions").replaceChildren(...(drawn ? [svgButton("evidence", () => $("timeline").querySelector("svg"))] : []));
  $("evidence").hidden = false;
  $("status").textContent += ` ${$("explained").textContent}.`;
}

// The same lines as on the command line: the reasons worth showing, and all other evidence together.
function lines(reasons) {
  const rest = 1 - reasons.reduce((sum, reason) => sum + reason.share, 0);
  return reasons.length && rest >= WORTH_SHOWING ? [...reasons, { share: rest, text: "weaker evidence" }] : reasons;
}
