"""Small pictures of numbers, in SVG."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from titer.evaluation.calibration import Bin
from titer.report.elements import el

WIDTH, HEIGHT, MARGIN = 640, 220, 44


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


def reliability(bins: Sequence[Bin]) -> Element:
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


def _picture(title: str, *parts: Element) -> Element:
    svg = el("svg", *parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=title)
    return el("figure", el("figcaption", title), svg)


def _text(x: float, y: float, words: str, anchor: str) -> Element:
    return el("text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)
