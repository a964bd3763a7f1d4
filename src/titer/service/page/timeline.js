// Evidence over time: from left to right, a lane for every entity, an arc for every fact.

import { percent, svg } from "./elements.js";

const WIDTH = 900, LANE = 50, LEFT = 226, RIGHT = 46, BULGE = 22, TOP = 30, LETTER = 6.2, LONGEST = 30, DATE = 90;
const short = (name) => (name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name);

// The facts of a path, each with the two lanes it joins, in the order in which the path is walked.
function walked(reason, start) {
  let here = start;
  return reason.facts.map((fact) => {
    const there = fact.subject === here ? fact.object : fact.subject;
    const step = { fact, from: here, to: there, share: reason.share };
    here = there;
    return step;
  });
}

export function draw(reasons, start, answer, date, onFact) {
  const steps = reasons.flatMap((reason) => walked(reason, start));
  const between = steps.map((step) => step.to).filter((name) => name !== answer);
  const lanes = [...new Set([start, ...between, answer])];
  const height = TOP + LANE * lanes.length + 26;
  const oldest = Math.max(1, ...steps.map((step) => step.fact.age));
  // Recent days need room, old ones little: the place grows with the logarithm of the age.
  const across = (age) => WIDTH - RIGHT - (Math.log1p(age) / Math.log1p(oldest)) * (WIDTH - LEFT - RIGHT);
  const down = (name) => TOP + LANE * (lanes.indexOf(name) + 0.5);

  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "group", "aria-label": `Evidence for ${answer}` });
  for (const name of lanes) {
    const y = down(name);
    picture.append(
      svg("line", { class: "lane", x1: LEFT, x2: WIDTH - RIGHT, y1: y, y2: y }),
      svg("text", { x: LEFT - BULGE, y: y + 4, "text-anchor": "end", class: name === answer ? "answer" : "" },
        svg("title", {}, name), short(name)),
    );
  }
  const now = WIDTH - RIGHT;
  picture.append(
    svg("line", { class: "now", x1: now, x2: now, y1: TOP - 10, y2: height - 20 }),
    svg("text", { x: now, y: 14, "text-anchor": "end" }, date),
  );
  const [first, ...others] = [...steps].sort((a, b) => b.fact.age - a.fact.age);
  const far = others.slice(-1).filter((step) => across(step.fact.age) - across(first.fact.age) > DATE);
  for (const { fact } of [first, ...far]) {
    picture.append(svg("text", { x: across(fact.age), y: height - 6, "text-anchor": "middle" }, fact.date));
  }
  // Strongest first, as they are tabbed through; thin arcs lie on top of thick ones.
  for (const step of steps) picture.append(arc(step, across(step.fact.age), down, onFact));
  picture.append(...labels(steps, across, down));
  return picture;
}

function arc({ fact, from, to, share }, x, down, onFact) {
  const start = down(from), end = down(to), middle = (start + end) / 2, bend = x - (start === end ? 34 : 16);
  const line = `M ${x} ${start} Q ${bend} ${middle} ${x} ${end}`;
  const words = `${fact.sentence} (${percent(share)} of the evidence)`;
  const choose = (event) => {
    if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    onFact(fact);
  };
  return svg("g", { class: "fact", tabindex: 0, role: "button", "data-key": words, "aria-label": `Without this: ${words}`, click: choose, keydown: choose },
    svg("title", {}, words),
    svg("path", { class: "touch", d: line }),
    svg("path", { class: "arc", d: line, "stroke-width": 1 + 7 * share }),
    svg("circle", { cx: x, cy: end, r: 3.5 }),
  );
}

// Relations of the arcs, strongest first, left of them or right, wherever there is room; hovering tells the others.
function labels(all, across, down) {
  const steps = [...new Map(all.map((step) => [step.fact.sentence, step])).values()]; // paths may share a fact
  const arcs = steps.map(({ fact, from, to }) => {
    const [top, bottom] = [down(from), down(to)].sort((a, b) => a - b);
    return { left: across(fact.age) - 10, right: across(fact.age) + 4, top, bottom };
  });
  const taken = [], placed = [];
  steps.forEach(({ fact, from, to }, i) => {
    const name = short(fact.relation), y = (down(from) + down(to)) / 2, length = LETTER * name.length;
    const options = [{ right: arcs[i].left - 3 }, { right: arcs[i].right + 3 + length }].map(({ right }) =>
      ({ left: right - length, right, top: y - LANE / 6, bottom: y + LANE / 6 }));
    const fits = (box) => box.left > LEFT && box.right < WIDTH - RIGHT
      && ![...arcs, ...taken].some((one) =>
        box.left < one.right && one.left < box.right && box.top < one.bottom && one.top < box.bottom);
    const box = options.find(fits);
    if (!box) return;
    taken.push(box);
    placed.push(svg("text", { class: "relation", x: box.left, y: y + 4 }, name));
  });
  return placed;
}
