"""Charts in SVG."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import ceil, floor, log10
from typing import Protocol
from xml.etree.ElementTree import Element, tostring

from titer.drawing.elements import el

WIDTH, HEIGHT, MARGIN = 640, 220, 44
MAX_DOTS = 60
"""Lines with more points are drawn without a dot for each."""


@dataclass(frozen=True)
class Panel:
    """One line chart of a picture with several."""

    label: str
    """The label of the vertical axis."""
    points: Sequence[tuple[float, float]]
    """Points (x, y) in order of x."""
    colour: str
    """``first`` or ``second``, a colour of the style sheet."""


class ReliabilityBin(Protocol):
    """Queries of similar confidence: their number, their mean probability and their accuracy."""

    @property
    def queries(self) -> int: ...  # noqa: D102
    @property
    def confidence(self) -> float: ...  # noqa: D102
    @property
    def accuracy(self) -> float: ...  # noqa: D102


def line_chart(title: str, points: Sequence[tuple[float, float]], labels: tuple[str, str], colour: str) -> Element:
    """Return a line chart whose horizontal axis is labelled at both ends.

    Args:
        title: The caption of the figure.
        points: Points (x, y) in order of x; at least one.
        labels: The labels of the first and the last x.
        colour: ``first`` or ``second``, a colour of the style sheet.

    Returns:
        A figure element.
    """
    ends = (points[0][0], labels[0], "start"), (points[-1][0], labels[1], "end")
    ticks = ends if len(points) > 1 else ends[:1]
    return _picture(title, *_plot(Panel("", points, colour), ticks, top=0))


def panel_chart(title: str, x_label: str, panels: Sequence[Panel]) -> Element:
    """Return line charts stacked over one horizontal axis, which counts in whole numbers.

    Args:
        title: The heading, which is part of the picture.
        x_label: The label of the horizontal axis.
        panels: The charts, from top to bottom; at least one, each with at least one point.

    Returns:
        A figure element.
    """
    xs = sorted({x for panel in panels for x, _ in panel.points})
    rounds = nice_ticks(xs[0], xs[-1], 8) if len(xs) > 1 else xs
    ticks = [(x, f"{x:.0f}", "middle") for x in rounds if x == round(x) and xs[0] <= x <= xs[-1]]
    heading = 30
    parts = [_text(MARGIN, 22, title, "start", "heading")]
    for number, panel in enumerate(panels):
        parts += _plot(panel, ticks, top=heading + number * HEIGHT, x_range=(xs[0], xs[-1]))
    height = heading + len(panels) * HEIGHT
    parts.append(_text(WIDTH / 2, height - 6, x_label, "middle"))
    return _picture(title, *parts, height=height)


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return evenly spaced round numbers that cover a range.

    Args:
        low: The smallest value of an axis.
        high: The largest value; above ``low``.
        count: The maximum number of intervals, at least 2.

    Returns:
        Multiples of 1, 2 or 5 times a power of ten, from at most ``low`` to at least ``high``, in order.
    """
    power = 10.0 ** floor(log10((high - low) / count))
    # The tolerance keeps rounding errors from adding an interval that contains no value.
    covers = {
        step: range(floor(low / step + 1e-9), ceil(high / step - 1e-9) + 1)
        for step in (power * factor for factor in (1, 2, 5, 10, 20, 50))
    }
    step = next(step for step, numbers in covers.items() if len(numbers) <= count + 1)
    return [number * step for number in covers[step]]


def bar(value: float, largest: float = 1.0) -> Element:
    """Return a bar for a cell of a table."""
    width = 120 * value / (largest or 1)
    return el(
        "svg", el("rect", width=f"{width:.1f}", height=10, rx=2, class_="first"), width=120, height=10, role="img"
    )


def grouped_bars(
    title: str,
    names: Sequence[str],
    series: Mapping[str, Sequence[float]],
    baseline: str = "",
    baseline_values: Mapping[str, float] | None = None,
) -> Element:
    """Return a chart of one or two series of percentages: a bar for each, and a dotted line per baseline value."""
    baseline_values = baseline_values or {}
    colours = dict(zip(series, ("first", "second"), strict=False))
    thick, left, right, top = 14, max(130, 7 * max(map(len, names), default=0)), WIDTH - MARGIN, MARGIN
    group = thick * len(series) + 12
    bottom = top + group * len(names)
    largest = max([*baseline_values.values(), *(value for values in series.values() for value in values)]) or 1

    def across(value: float) -> float:
        return left + value / largest * (right - left)

    bars, lines, words = [], [], []  # in drawing order: figures over lines over bars
    for row, name in enumerate(names):
        y = top + group * row + 6
        words.append(_text(left - 8, y + thick * len(series) / 2 + 4, name, "end"))
        for place, (kind, values) in enumerate(series.items()):
            value, above = values[row], y + thick * place
            width = f"{across(value) - left:.1f}"
            bars.append(el("rect", x=left, y=above, width=width, height=thick - 2, rx=2, class_=colours[kind]))
            words.append(_text(across(value) + 4, above + thick - 4, f"{value:.1f}", "start", "figure"))
    for place, (kind, value) in enumerate(baseline_values.items()):
        x = across(value)
        lines.append(el("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=top, y2=bottom, class_="dotted"))
        # The lines may be close to each other, so each label has a row of its own.
        words.append(_text(x, bottom + 14 * (place + 1), f"{baseline}: {kind} {value:.1f}", "middle"))
    for place, kind in enumerate(series):
        key = left + 120 * place
        bars.append(el("rect", x=key, y=14, width=12, height=12, rx=2, class_=colours[kind]))
        words.append(_text(key + 18, 24, kind, "start"))
    return _picture(title, *bars, *lines, *words, height=bottom + 14 * len(baseline_values) + 8)


def svg_file(picture: Element) -> str:
    """Return a figure as the text of an SVG file that contains its own style, light and dark."""
    svg = picture.find("svg")
    assert svg is not None
    paper = el("rect", width="100%", height="100%", class_="paper")
    alone = el("svg", el("title", svg.get("aria-label", "")), el("style", _svg_style()), paper, *svg, **svg.attrib)
    alone.set("xmlns", "http://www.w3.org/2000/svg")
    return tostring(alone, encoding="unicode") + "\n"


def _svg_style() -> str:
    """Return the rules for SVG of the style sheet with literal colours, since many viewers know no CSS variables."""
    sheet = files("titer.drawing").joinpath("style.css").read_text(encoding="utf-8")
    rules = [f"{names.strip()} {{{body}}}" for names, body in re.findall(r"(svg[^{}]*)\{([^{}]*)\}", sheet)]
    light, dark = (dict(re.findall(r"--(\w+): ([^;]+);", block)) for block in re.findall(r":root \{([^}]*)\}", sheet))

    def literal(colours: dict[str, str]) -> list[str]:
        return [re.sub(r"var\(--(\w+)\)", lambda found: colours[found[1]], rule) for rule in rules]

    # All rules again for dark, since a rule without a colour may have to follow one with a colour.
    lines = ["svg { font-family: system-ui, sans-serif; }", *literal(light)]
    lines += ["@media (prefers-color-scheme: dark) {", *literal(dark), "}"]
    return "\n" + "\n".join(lines) + "\n"


def reliability(
    bins: Sequence[ReliabilityBin],
    title: str = "Accuracy of top answers by probability",
    labels: tuple[str, str] = ("probability of the top answer", "accuracy"),
    what: tuple[str, str] = ("queries", "right"),
) -> Element:
    """Return a reliability diagram: the accuracy of top answers by probability; on the diagonal they are equal.

    Args:
        bins: The bins, at least one.
        title: The caption of the figure.
        labels: The labels of the two axes.
        what: What a bin consists of, and what the vertical axis is the share of, for the tooltips.
    """
    height = HEIGHT + 120
    frame = _Frame((0, 1), (0, 1), MARGIN, height - MARGIN)
    shares = [number / 5 for number in range(6)]
    parts = frame.axes([(x, f"{x:.0%}", "middle") for x in shares], [(y, f"{y:.0%}") for y in shares])
    parts.append(_line(*frame.place(0, 0), *frame.place(1, 1), "dotted"))
    most = max(one.queries for one in bins)
    for one in bins:
        x, y = frame.place(one.confidence, one.accuracy)
        words = f"{one.queries:,} {what[0]}, probability {one.confidence:.0%}, {one.accuracy:.0%} {what[1]}"
        radius = 3 + 9 * (one.queries / most) ** 0.5
        parts.append(el("circle", el("title", words), cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{radius:.1f}", class_="mark"))
    parts.append(_text(MARGIN, MARGIN - 16, labels[1], "start"))
    parts.append(_text(WIDTH / 2, height - 6, labels[0], "middle"))
    return _picture(title, *parts, height=height)


@dataclass(frozen=True)
class _Frame:
    """The axes of a chart: ranges of values, and where they are in the picture."""

    x_range: tuple[float, float]
    y_range: tuple[float, float]
    top: float
    bottom: float

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return the coordinates of a point in the picture."""
        (first, last), (low, high) = self.x_range, self.y_range
        across, up = (x - first) / ((last - first) or 1), (y - low) / (high - low)
        return MARGIN + across * (WIDTH - 2 * MARGIN), self.bottom - up * (self.bottom - self.top)

    def axes(self, x_ticks: Sequence[tuple[float, str, str]], y_ticks: Sequence[tuple[float, str]]) -> list[Element]:
        """Draw both axes, their ticks, and guide lines."""
        parts: list[Element] = []
        for y, label in y_ticks:
            height = self.place(self.x_range[0], y)[1]
            parts.append(_line(MARGIN, height, WIDTH - MARGIN, height, "guide"))
            parts.append(_text(MARGIN - 6, height + 4, label, "end"))
        parts.append(_line(MARGIN, self.bottom, WIDTH - MARGIN, self.bottom, "axis"))
        parts.append(_line(MARGIN, self.top, MARGIN, self.bottom, "axis"))
        for x, label, anchor in x_ticks:
            across = self.place(x, self.y_range[0])[0]
            parts.append(_line(across, self.bottom, across, self.bottom + 4, "axis"))
            parts.append(_text(across, self.bottom + 18, label, anchor))
        return parts


def _plot(
    panel: Panel, x_ticks: Sequence[tuple[float, str, str]], top: float, x_range: tuple[float, float] | None = None
) -> list[Element]:
    """Draw axes, ticks, guide lines and the line of a chart into a box of the usual size."""
    xs, ys = [x for x, _ in panel.points], [y for _, y in panel.points]
    low, high = min(ys), max(ys)
    y_ticks = nice_ticks(low, high) if low < high else nice_ticks(low - 1, high + 1)
    frame = _Frame(x_range or (xs[0], xs[-1]), (y_ticks[0], y_ticks[-1]), top + MARGIN, top + HEIGHT - MARGIN)
    parts = frame.axes(x_ticks, [(y, f"{y:.6g}") for y in y_ticks])
    places = [frame.place(*point) for point in panel.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(el("polyline", points=path, class_=f"line {panel.colour}"))
    if len(places) <= MAX_DOTS:
        parts += [el("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=2.5, class_=panel.colour) for x, y in places]
    if panel.label:
        parts.append(_text(MARGIN, top + MARGIN - 12, panel.label, "start"))
    return parts


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Element:
    return el("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_=kind)


def _picture(title: str, *parts: Element, height: float = HEIGHT) -> Element:
    svg = el("svg", *parts, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=title)
    return el("figure", el("figcaption", title), svg)


def _text(x: float, y: float, words: str, anchor: str, kind: str = "") -> Element:
    return el("text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=kind)
