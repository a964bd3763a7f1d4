"""A timeline as SVG: time runs from left to right, every entity has a lane, every fact is an arc between two lanes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from xml.etree.ElementTree import Element

from titer.drawing.elements import el
from titer.drawing.text import fitted

WIDTH, LANE, LEFT, RIGHT, TOP, BOTTOM = 900, 50, 236, 56, 34, 34
NAME_SIZE, NAME_SPACE = 12, LEFT - 26 - 6
"""The font size of the lanes' names, and the width that they have."""
BEND = 16
"""How far an arc bends to the left."""
APART = 11
"""Arcs that would cover each other are drawn this far apart."""
MAX_LETTERS = 30
LETTER = 5.9
"""Approximate width of a letter of a relation."""
GAP = 14
"""Least distance between two dates."""


@dataclass(frozen=True)
class TimelineHop:
    """One fact of a path, from the lane it leaves to the lane it reaches."""

    start: str
    """The entity that the path leaves."""
    end: str
    """The entity that the path reaches."""
    reversed: bool
    """Whether the fact itself points from ``end`` to ``start``."""
    label: str
    """The relation."""
    date: str
    """When it happened, for readers."""
    age: int
    """How many time steps before the right end of the picture."""
    words: str
    """The fact as a sentence."""


@dataclass(frozen=True)
class TimelinePath:
    """Facts that lead from the question's entity to the answer."""

    number: int
    """The ``data-reason`` attribute of its facts."""
    share: float
    """Between 0 and 1; the width of the arcs."""
    hops: tuple[TimelineHop, ...]


def draw_timeline(
    paths: Sequence[TimelinePath],
    entity: str,
    answer: str,
    date: str,
    *,
    question: str,
    reversed: bool,
    title: str,
    interactive: bool = False,
) -> Element:
    """Draw paths of facts that lead from one entity to another.

    Args:
        paths: The paths, strongest first. At least one has a hop.
        entity: The entity that the paths start from.
        answer: The entity that they end at.
        date: The time of the question, at the right end.
        question: The question in words, the tooltip of the forecast's own arrow.
        reversed: Whether the question asks for a subject, so that the forecast points from the answer to the entity.
        title: The name of the picture for screen readers.
        interactive: Whether facts can take the keyboard focus and are announced as buttons.

    Returns:
        An ``svg`` element with the class ``titer-timeline``. Every fact is a group with the attributes
        ``data-reason`` (the number of its path) and ``data-fact`` (its place in the path, from 0).
    """
    layout = _Layout(paths, entity, answer)
    labels = _labels(layout)
    start, end = (answer, entity) if reversed else (entity, answer)
    parts = [
        el("rect", width=WIDTH, height=layout.height, class_="paper"),
        *_lanes(layout, answer),
        *_axis(layout, date),
        _forecast(layout.now, layout.down(start), layout.down(end), question),
        *(_link(arc, following) for arc, following in layout.links()),
        *(_fact(arc, labels.get(place), interactive=interactive) for place, arc in enumerate(layout.arcs)),
    ]
    return el(
        "svg",
        *parts,
        viewBox=f"0 0 {WIDTH} {layout.height}",
        role="group" if interactive else "img",
        aria_label=title,
        class_="titer-timeline",
    )


class _Arc(NamedTuple):
    """A fact with its place in the picture."""

    hop: TimelineHop
    share: float
    reason: int
    place: int
    x: float
    start: float
    end: float

    @property
    def box(self) -> "_Box":
        top, bottom = sorted((self.start, self.end))
        reach = BEND / 2 if top < bottom else 2 * BEND
        return _Box(self.x - reach - 2, self.x + 5, top if top < bottom else top - BEND, bottom)


class _Box(NamedTuple):
    """A rectangle that something covers."""

    left: float
    right: float
    top: float
    bottom: float

    def overlaps(self, other: "_Box") -> bool:
        beside = self.right <= other.left or other.right <= self.left
        return not (beside or self.bottom <= other.top or other.bottom <= self.top)


class _Layout:
    """Where lanes and arcs go."""

    def __init__(self, paths: Sequence[TimelinePath], entity: str, answer: str):
        hops = [hop for path in paths for hop in path.hops]
        between = [name for hop in hops for name in (hop.start, hop.end) if name != answer]
        self.lanes = list(dict.fromkeys([entity, *between, answer]))
        self.height = TOP + LANE * len(self.lanes) + BOTTOM
        self.now = WIDTH - RIGHT
        self._oldest = max((hop.age for hop in hops), default=1)
        self.arcs: list[_Arc] = []
        for path in paths:
            for place, hop in enumerate(path.hops):
                self._place(path, place, hop)

    def _place(self, path: TimelinePath, place: int, hop: TimelineHop) -> None:
        """Place an arc at its time, or further left where it would cover another fact."""
        start, end = self.down(hop.start), self.down(hop.end)
        arc = _Arc(hop, path.share, path.number, place, self.across(hop.age), start, end)
        for other in sorted(self.arcs, key=lambda other: -other.x):
            same_lanes = {other.start, other.end} == {start, end}
            if other.hop.words != hop.words and same_lanes and abs(other.x - arc.x) < APART:
                arc = arc._replace(x=max(other.x - APART, LEFT - 10))
        self.arcs.append(arc)

    def across(self, age: int) -> float:
        """Return the horizontal place of an age: logarithmic, since recent facts are the most and matter most."""
        return self.now - 8 - math.log1p(age) / math.log1p(max(self._oldest, 1)) * (self.now - 8 - LEFT)

    def down(self, entity: str) -> float:
        """Return the vertical place of an entity."""
        return TOP + LANE * (self.lanes.index(entity) + 0.5)

    def gaps(self, arc: "_Arc") -> list[float]:
        """Return the vertical places between the lanes that an arc crosses, nearest to its middle first."""
        top, bottom = sorted((arc.start, arc.end))
        middle = (top + bottom) / 2
        places = [top + LANE * (i + 0.5) for i in range(round((bottom - top) / LANE))] or [top - BEND - 4]
        return sorted(places, key=lambda y: abs(y - middle))

    def links(self) -> list[tuple[_Arc, _Arc]]:
        """Return consecutive facts of one path."""
        pairs = zip(self.arcs, self.arcs[1:], strict=False)
        return [(one, other) for one, other in pairs if other.reason == one.reason and other.place == one.place + 1]


def _lanes(layout: _Layout, answer: str) -> list[Element]:
    """Draw the lanes, with their names at the left."""
    parts: list[Element] = []
    for name in layout.lanes:
        y = layout.down(name)
        kind = "name answer" if name == answer else "name"
        shown = fitted(name, NAME_SPACE, NAME_SIZE, bold=name == answer)
        parts.append(el("line", x1=LEFT - 12, x2=layout.now, y1=y, y2=y, class_="lane"))
        parts.append(el("text", el("title", name), shown, x=LEFT - 26, y=y + 4, text_anchor="end", class_=kind))
    return parts


def _axis(layout: _Layout, date: str) -> list[Element]:
    """Draw the time of the question at the right end, and the dates of facts below, as many as fit."""
    now, bottom = layout.now, layout.height - BOTTOM
    parts = [
        el("line", x1=now, x2=now, y1=TOP - 8, y2=bottom, class_="axis"),
        el("text", date, x=WIDTH - 10, y=TOP - 14, text_anchor="end", class_="asked"),
        el("line", x1=LEFT - 12, x2=now, y1=bottom, y2=bottom, class_="axis"),
        el("text", "logarithmic time scale", x=10, y=bottom + 18, class_="scale"),
    ]
    dates = {hop.age: hop.date for hop in (arc.hop for arc in layout.arcs)}
    shown: list[float] = []
    for age in dict.fromkeys([max(dates), min(dates), *sorted(dates)]):  # The oldest and the latest are always dated.
        x = layout.across(age)
        if all(abs(x - other) > LETTER * len(dates[age]) + GAP for other in shown):
            shown.append(x)
            parts.append(el("line", x1=_n(x), x2=_n(x), y1=bottom, y2=bottom + 5, class_="axis"))
            parts.append(el("text", dates[age], x=_n(x), y=bottom + 18, text_anchor="middle", class_="date"))
    return parts


def _forecast(x: float, start: float, end: float, question: str) -> Element:
    """Draw the forecast itself as a dashed arrow."""
    line, head = _arrow(x, start, end, 7, -BEND)
    return el("g", el("title", question), el("path", d=line, class_="forecast"), head("target"))


def _link(arc: _Arc, following: _Arc) -> Element:
    """Draw the way along a lane from one fact of a path to the next."""
    ends = {"x1": _n(arc.x), "x2": _n(following.x), "y1": _n(arc.end), "y2": _n(arc.end)}
    return el("line", **ends, stroke_width=_n(1.5 + 3 * arc.share), class_="link")


def _fact(arc: _Arc, label: Element | None, *, interactive: bool) -> Element:
    """Draw a fact: an arc with an arrow head at the fact's own object, and its relation if there is space for it."""
    width = 1.2 + 5.5 * arc.share
    tail, head = (arc.end, arc.start) if arc.hop.reversed else (arc.start, arc.end)
    line, arrow_head = _arrow(arc.x, tail, head, 7 + width, BEND)
    words = f"{arc.hop.words} ({arc.share:.1%} of the weight)"
    button: dict[str, object] = {"tabindex": 0, "role": "button", "aria_label": words} if interactive else {}
    return el(
        "g",
        el("title", words),
        el("path", d=line, class_="touch"),
        el("path", d=line, stroke_width=_n(width), class_="arc"),
        el("circle", cx=_n(arc.x), cy=_n(tail), r=_n(1 + width / 2), class_="end"),
        arrow_head("end"),
        *([label] if label is not None else []),
        class_="fact",
        data_reason=arc.reason,
        data_fact=arc.place,
        **button,
    )


def _arrow(x: float, tail: float, head: float, size: float, bend: float) -> tuple[str, Callable[[str], Element]]:
    """Return the curve of an arrow between two lanes, and what draws its head with a given class."""
    if tail == head:  # A loop.
        corners, dx, dy = f"C {x - 3 * bend:.1f} {tail - 8:.1f} {x - bend:.1f} {tail - 2 * abs(bend):.1f}", bend, 32.0
    else:
        corners, dx, dy = f"Q {x - bend:.1f} {(tail + head) / 2:.1f}", bend, (head - tail) / 2
    length = math.hypot(dx, dy)
    # The curve ends within the head, so that a wide one does not show beyond its tip.
    end_x, end_y = x - 0.8 * size * dx / length, head - 0.8 * size * dy / length
    angle = math.degrees(math.atan2(dy, dx))

    def draw_head(kind: str) -> Element:
        shape = f"M 0 0 L {-size:.1f} {-size / 2:.1f} L {-size:.1f} {size / 2:.1f} Z"
        return el("path", d=shape, transform=f"translate({x:.1f} {head:.1f}) rotate({angle:.1f})", class_=kind)

    return f"M {x:.1f} {tail:.1f} {corners} {end_x:.1f} {end_y:.1f}", draw_head


def _labels(layout: _Layout) -> dict[int, Element]:
    """Return the relations of the arcs by place, strongest first, left or right of the arc where there is space."""
    boxes = [arc.box for arc in layout.arcs]
    taken = list(boxes)
    labels: dict[int, Element] = {}
    seen: set[str] = set()
    for place, (arc, box) in enumerate(zip(layout.arcs, boxes, strict=True)):
        if arc.hop.words in seen:  # Several paths may share a fact.
            continue
        seen.add(arc.hop.words)
        options = [
            (name, y, left)
            for name in dict.fromkeys([_short(arc.hop.label), _short(arc.hop.label, MAX_LETTERS // 2)])
            for y in layout.gaps(arc)
            for left in (box.left - 3 - LETTER * len(name), box.right + 3)
        ]
        for name, y, left in options:
            wanted = _Box(left, left + LETTER * len(name), y - 8, y + 8)
            inside = wanted.left > LEFT - 12 and wanted.right < layout.now - 4
            if inside and not any(wanted.overlaps(other) for other in taken if other != box):
                taken.append(wanted)
                labels[place] = el("text", name, x=_n(left), y=_n(y + 4), class_="relation")
                break
    return labels


def _n(value: float) -> str:
    return f"{value:.1f}"


def _short(name: str, letters: int = MAX_LETTERS) -> str:
    return name if len(name) <= letters else name[: letters - 1].rstrip() + "…"
