"""Evidence as a picture: time from left to right, a lane for every entity, an arc for every fact."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.drawing.elements import el
from titer.models.evidence import Edge, Evidence

WIDTH, LANE, LEFT, RIGHT, TOP = 760, 46, 204, 40, 26
BULGE = 20
"""How far the arcs of the oldest facts reach to the left, where names stand."""
LONGEST_NAME = 28
LETTER = 6.0
"""About how wide a letter of a relation is."""
DATE = 90
"""About how wide a date is, with some room."""
Place = Callable[[int], float]


def draw_evidence(
    evidence: Sequence[Evidence], subject: int, answer: int, time: int, vocabulary: Vocabulary, axis: TimeAxis
) -> Element:
    """The paths from a question's subject to an answer, thicker where they matter more."""
    paths = [item for item in evidence if item.path]
    between = [edge.object for item in paths for edge in item.path]
    lanes = list(dict.fromkeys([subject, *(entity for entity in between if entity != answer), answer]))
    height = TOP + LANE * len(lanes) + 24
    oldest = max((time - edge.time for item in paths for edge in item.path), default=1)

    def across(moment: int) -> float:
        """Recent days need room, old ones little: the place grows with the logarithm of the age."""
        age = math.log1p(time - moment) / math.log1p(oldest)
        return WIDTH - RIGHT - age * (WIDTH - LEFT - RIGHT)

    def down(entity: int) -> float:
        return TOP + LANE * (lanes.index(entity) + 0.5)

    parts = [el("line", x1=LEFT, x2=WIDTH - RIGHT, y1=down(e), y2=down(e), class_="lane") for e in lanes]
    parts += [
        el("text", el("title", vocabulary.entities[e]), _short(vocabulary.entities[e]), x=LEFT - BULGE, y=down(e) + 4,
           text_anchor="end", class_="answer" if e == answer else "")
        for e in lanes
    ]  # fmt: skip
    now = WIDTH - RIGHT
    parts.append(el("line", x1=now, x2=now, y1=TOP - 8, y2=height - 18, class_="now"))
    parts.append(el("text", axis.words(time), x=now, y=14, text_anchor="end"))
    moments = sorted({edge.time for item in paths for edge in item.path})
    latest = [moment for moment in moments[-1:] if across(moment) - across(moments[0]) > DATE]
    for moment in moments[:1] + latest:
        parts.append(el("text", axis.words(moment), x=f"{across(moment):.1f}", y=height - 6, text_anchor="middle"))
    for item in reversed(paths):
        parts += [_arc(edge, item.share, across(edge.time), down, time, vocabulary, axis) for edge in item.path]
    parts += _labels([edge for item in paths for edge in item.path], across, down, vocabulary)
    names = vocabulary.entities
    label = f"Evidence for {names[answer]}: " + "; ".join(
        fact_in_words(edge, time, vocabulary, axis) for item in paths[:3] for edge in item.path
    )
    return el("svg", *parts, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=label, class_="timeline")


def fact_in_words(edge: Edge, asked: int, vocabulary: Vocabulary, axis: TimeAxis) -> str:
    """The fact that an edge walks along, the way round it happened, with its date."""
    subject, relation, object, time = edge.forward(vocabulary)
    what = f"{vocabulary.entities[subject]} — {vocabulary.relations[relation]} — {vocabulary.entities[object]}"
    return f"{what}, {axis.words(time)} ({axis.duration(asked - time)} before)"


def _arc(
    edge: Edge, share: float, x: float, down: Place, asked: int, vocabulary: Vocabulary, axis: TimeAxis
) -> Element:
    start, end = down(edge.subject), down(edge.object)
    bend = x - 14 if start != end else x - 30
    middle = (start + end) / 2
    words = f"{share:.0%}: {fact_in_words(edge, asked, vocabulary, axis)}"
    return el(
        "g",
        el("title", words),
        el(
            "path",
            d=f"M {x:.1f} {start:.1f} Q {bend:.1f} {middle:.1f} {x:.1f} {end:.1f}",
            class_="arc",
            stroke_width=f"{1 + 7 * share:.1f}",
        ),
        el("circle", cx=f"{x:.1f}", cy=f"{end:.1f}", r=3, class_="second"),
    )


class _Box(NamedTuple):
    """A place that something takes up."""

    left: float
    right: float
    top: float
    bottom: float

    def meets(self, other: "_Box") -> bool:
        beside = self.right <= other.left or other.right <= self.left
        return not (beside or self.bottom <= other.top or other.bottom <= self.top)


def _labels(edges: Sequence[Edge], across: Place, down: Place, vocabulary: Vocabulary) -> list[Element]:
    """Relations of the arcs, strongest first, left of them or right, where there is room; hovering tells the others."""
    facts = dict.fromkeys(edge.forward(vocabulary) for edge in edges)  # several paths may walk along one of them
    arcs = [
        _Box(across(edge.time) - 10, across(edge.time) + 4, *sorted((down(edge.subject), down(edge.object))))
        for edge in facts
    ]
    taken = list(arcs)
    labels = []
    for edge, arc in zip(facts, arcs, strict=True):
        name = _short(vocabulary.relations[edge.relation])
        middle, width = (arc.top + arc.bottom) / 2, LETTER * len(name)
        for left in (arc.left - 3 - width, arc.right + 3):
            box = _Box(left, left + width, middle - LANE / 6, middle + LANE / 6)
            if box.left > LEFT and box.right < WIDTH - RIGHT and not any(box.meets(other) for other in taken):
                taken.append(box)
                labels.append(el("text", name, x=f"{left:.1f}", y=f"{middle + 4:.1f}", class_="relation"))
                break
    return labels


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
