"""Charts: ticks, points and styles."""

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from titer.drawing.charts import (
    HEIGHT,
    MARGIN,
    WIDTH,
    Panel,
    line_chart,
    nice_ticks,
    panel_chart,
    reliability,
    svg_file,
)
from titer.evaluation.calibration import CalibrationBin


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 10))
def test_ticks_are_few_round_and_cover_the_range(low: float, span: float, count: int):
    high = low + span
    ticks = nice_ticks(low, high, count)
    step = ticks[1] - ticks[0]
    assert ticks[0] <= low + 1e-6 * step
    assert ticks[-1] >= high - 1e-6 * step
    assert 1 <= len(ticks) - 1 <= count
    leading = step / 10 ** math.floor(math.log10(step) + 1e-6)
    assert min(abs(leading - round_number) for round_number in (1, 2, 5)) < 1e-3


@pytest.mark.parametrize(
    "points", [[(1.0, 3.0)], [(1.0, 3.0), (2.0, 3.0)], [(1.0, 0.0), (5.0, -2.0)], [(1.0, 1e9), (2.0, 1e9 + 1)]]
)
def test_all_points_are_inside_the_axes(points: list[tuple[float, float]]):
    chart = line_chart("A chart", points, ("first", "last"), "first")
    (line,) = chart.iter("polyline")
    for point in line.get("points", "").split():
        x, y = map(float, point.split(","))
        assert MARGIN <= x <= WIDTH - MARGIN
        assert MARGIN <= y <= HEIGHT - MARGIN
    texts = [text.text for text in chart.iter("text")]
    assert "first" in texts
    assert ("last" in texts) == (len(points) > 1)


def test_panels_share_their_horizontal_axis():
    parts = [Panel("loss", [(1, 0.2), (2, 0.15), (4, 0.1)], "first"), Panel("MRR", [(2, 30.0), (4, 40.0)], "second")]
    chart = panel_chart("A run", "epoch", parts)
    first, second = ([p.split(",")[0] for p in line.get("points", "").split()] for line in chart.iter("polyline"))
    assert second == first[1:]
    texts = [text.text for text in chart.iter("text")]
    assert texts[0] == "A run"
    assert texts.count("1") == texts.count("4") == 2
    assert {"loss", "MRR", "epoch"} <= set(texts)


def test_an_svg_file_has_literal_colours_for_light_and_dark():
    text = svg_file(panel_chart("<b>", "epoch", [Panel("loss", [(1, 2.0), (2, 1.0)], "first")]))
    svg = ElementTree.fromstring(text)
    (style,) = svg.iter("{http://www.w3.org/2000/svg}style")
    assert style.text is not None
    assert "var(" not in style.text
    light, dark = style.text.split("@media (prefers-color-scheme: dark) {")
    colours = [re.search(r"svg \.line\.first \{ stroke: (#\w+)", part) for part in (light, dark)]
    assert all(colours)
    assert colours[0] is not None
    assert colours[1] is not None
    assert colours[0][1] != colours[1][1]
    # The rule that keeps lines unfilled must follow the one that fills their dots, in both.
    assert all(part.index("svg .line {") > part.index("svg .first {") for part in (light, dark))


def test_a_reliability_diagram_has_axes_and_a_mark_for_every_bin():
    chart = reliability([CalibrationBin(10, 0.0, 0.0), CalibrationBin(90, 1.0, 1.0)])
    texts = [text.text for text in chart.iter("text")]
    assert texts.count("0%") == texts.count("40%") == texts.count("100%") == 2
    assert {"accuracy", "probability of the top answer"} <= set(texts)
    assert [line.get("class") for line in chart.iter("line")].count("axis") == 2 + 6
    (diagonal,) = (line for line in chart.iter("line") if line.get("class") == "dotted")
    marks = [(mark.get("cx"), mark.get("cy")) for mark in chart.iter("circle")]
    assert marks == [(diagonal.get("x1"), diagonal.get("y1")), (diagonal.get("x2"), diagonal.get("y2"))]
    assert chart.findtext(".//circle/title") == "10 queries, probability 0%, 0% right"
