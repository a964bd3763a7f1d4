"""Small pictures of numbers, in SVG."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Protocol
from xml.etree.ElementTree import Element, tostring

from titer.drawing.elements import el

WIDTH, HEIGHT, MARGIN = 640, 220, 44


class ReliabilityBin(Protocol):
    """Questions of similar confidence: how many, how confident, and how often the top answer was right."""

    @property
    def queries(self) -> int: ...  # noqa: D102
    @property
    def confidence(self) -> float: ...  # noqa: D102
    @property
    def accuracy(self) -> float: ...  # noqa: D102


def line_chart(title: str, points: Sequence[tuple[float, float]], labels: tuple[str, str], colour: str) -> Element:
    """A line over the horizontal axis, whose ends are labelled."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    low, high = min(ys), max(ys)
    if low == high:
        low, high = low - 1, high + 1

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - xs[0]) / ((xs[-1] - xs[0]) or 1)
        up = (y - low) / (high - low)
        return MARGIN + across * (WIDTH - 2 * MARGIN), HEIGHT - MARGIN - up * (HEIGHT - 2 * MARGIN)

    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in points))
    dots = [el("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=2.5, class_=colour) for x, y in (place(*p) for p in points)]
    return _picture(
        title,
        el("polyline", points=path, class_=f"line {colour}"),
        *(dots if len(dots) <= 60 else []),
        *(_text(MARGIN - 6, place(xs[0], y)[1] + 4, f"{y:.4g}", "end") for y in (low, high)),
        _text(MARGIN, HEIGHT - MARGIN + 18, labels[0], "start"),
        _text(WIDTH - MARGIN, HEIGHT - MARGIN + 18, labels[1], "end"),
    )


def bar(value: float, largest: float = 1.0) -> Element:
    """A bar for a cell of a table."""
    width = 120 * value / (largest or 1)
    return el(
        "svg", el("rect", width=f"{width:.1f}", height=10, rx=2, class_="first"), width=120, height=10, role="img"
    )


def grouped_bars(
    title: str,
    names: Sequence[str],
    series: Mapping[str, Sequence[float]],
    baseline: str,
    baseline_values: Mapping[str, float],
) -> Element:
    """Two series of percentages, a pair of bars for each name, and dotted lines where a baseline stands in each."""
    colours = dict(zip(series, ("first", "second"), strict=True))
    thick, left, right, top = 14, 130, WIDTH - MARGIN, MARGIN
    group = thick * len(series) + 12
    bottom = top + group * len(names)
    largest = max(*baseline_values.values(), *(value for values in series.values() for value in values)) or 1

    def across(value: float) -> float:
        return left + value / largest * (right - left)

    bars, lines, words = [], [], []  # figures lie over the lines, and those over the bars
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
        # One line may be close to the other: each is named on a row of its own.
        words.append(_text(x, bottom + 14 * (place + 1), f"{baseline}: {kind} {value:.1f}", "middle"))
        key = left + 120 * place
        bars.append(el("rect", x=key, y=14, width=12, height=12, rx=2, class_=colours[kind]))
        words.append(_text(key + 18, 24, kind, "start"))
    return _picture(title, *bars, *lines, *words, height=bottom + 14 * len(series) + 8)


def svg_file(picture: Element) -> str:
    """A picture as a file of its own, with its style in it."""
    svg = picture.find("svg")
    assert svg is not None
    style = files("titer.drawing").joinpath("style.css").read_text(encoding="utf-8")
    paper = el("rect", width="100%", height="100%", class_="paper")
    alone = el("svg", el("title", svg.get("aria-label", "")), el("style", style), paper, *svg, **svg.attrib)
    alone.set("xmlns", "http://www.w3.org/2000/svg")
    return tostring(alone, encoding="unicode") + "\n"


def reliability(bins: Sequence[ReliabilityBin]) -> Element:
    """How often top answers were right, by how sure the model was; on the diagonal it is as sure as it is right."""
    side = HEIGHT - 2 * MARGIN
    most = max(one.queries for one in bins)

    def place(x: float, y: float) -> tuple[float, float]:
        return MARGIN + x * side * 2, HEIGHT - MARGIN - y * side

    (x0, y0), (x1, y1) = place(0, 0), place(1, 1)
    marks = []
    for one in bins:
        x, y = place(one.confidence, one.accuracy)
        words = f"{one.queries:,} questions, {one.confidence:.0%} sure, {one.accuracy:.0%} right"
        radius = 3 + 9 * (one.queries / most) ** 0.5
        marks.append(el("circle", el("title", words), cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{radius:.1f}", class_="mark"))
    return _picture(
        "How often it was right, by how sure it was",
        el("line", x1=x0, y1=y0, x2=x1, y2=y1, class_="guide"),
        *marks,
        _text(x0, HEIGHT - MARGIN + 18, "0% sure", "start"),
        _text(x1, HEIGHT - MARGIN + 18, "100% sure", "end"),
        _text(x0 - 6, y0 + 4, "0%", "end"),
        _text(x0 - 6, y1 + 4, "100%", "end"),
        _text(x0 + 4, y1 - 8, "right", "start"),
    )


def _picture(title: str, *parts: Element, height: float = HEIGHT) -> Element:
    svg = el("svg", *parts, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=title)
    return el("figure", el("figcaption", title), svg)


def _text(x: float, y: float, words: str, anchor: str, kind: str = "") -> Element:
    return el("text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=kind)
