"""How cost grows with the number of facts, from ``scale/``."""

from collections.abc import Callable
from math import log10

from rendering.files import Measurements, Row
from rendering.markdown import NOTHING, table
from titer.drawing.charts import Panel, panel_chart, svg_file

PICTURE = "pictures/scale.svg"
COSTS: dict[str, tuple[str, Callable[[Row], float]]] = {
    "import": ("import", lambda row: 1e6 * row["import"]["facts_cpu_seconds"] / row["facts"]),
    "history": ("index", lambda row: 1e6 * row["index"]["history_cpu_seconds"] / row["facts"]),
    "pair index": ("index", lambda row: 1e6 * row["index"]["pairs_cpu_seconds"] / row["facts"]),
}
"""CPU time per fact in microseconds, by the title of the column, with the stage that measures it."""


def scale_table(measured: Measurements) -> list[str]:
    """Return the cost of every stage, one row for each size, and the exponents of growth."""
    rows = _rows(measured)
    titles = [f"{title}, µs/fact" for title in COSTS]
    lines = [[f"{row['facts']:,}", f"{row['entities']:,}", *_costs(row), *_others(row)] for row in rows]
    header = ["facts", "entities", *titles, "index, bytes/fact", "opening, s", "one more fact, s"]
    header += ["training, ms/query", "ranking, ms/query"]
    if len(rows) > 1:
        lines.append(["growth", "", *(f"n^{_exponent(rows, title):.2f}" for title in COSTS), *[""] * 5])
    return table(header, lines)


def memory_table(measured: Measurements) -> list[str]:
    """Return the peak of private memory of every stage, and of all resident memory in brackets."""
    stages = ("import", "index", "open", "train", "forecast")
    lines = [
        [f"{row['facts']:,}", *(_memory(row[stage]) if stage in row else NOTHING for stage in stages)]
        for row in _rows(measured)
    ]
    return table(["facts", "import", "building the index", "opening", "training", "ranking"], lines)


def scale_picture(measured: Measurements) -> str:
    """Draw the CPU time per fact over the number of facts."""
    rows = _rows(measured)
    panels = [
        Panel(f"{title}, µs/fact", [(log10(row["facts"]), cost(row)) for row in rows if stage in row], "first")
        for title, (stage, cost) in COSTS.items()
    ]
    return svg_file(panel_chart("CPU time per fact", "facts, as a power of ten", panels))


def _rows(measured: Measurements) -> list[Row]:
    return sorted(measured.scale.values(), key=lambda row: row["facts"])


def _costs(row: Row) -> list[str]:
    return [f"{cost(row):.2f}" if stage in row else NOTHING for stage, cost in COSTS.values()]


def _others(row: Row) -> list[str]:
    """Return the cells of a row that are not costs per fact."""
    size = f"{row['index']['bytes_per_fact']:.0f}" if "index" in row else NOTHING
    opening = one_more = NOTHING
    if "open" in row:
        opening = f"{row['open']['dataset_cpu_seconds'] + row['open']['index_cpu_seconds']:.1f}"
        one_more = f"{row['open']['one_more_fact_cpu_seconds']:.2f}"
    queries = [
        f"{1000 * row[stage]['queries_cpu_seconds'] / row[stage]['queries']:.1f}" if stage in row else NOTHING
        for stage in ("train", "forecast")
    ]
    return [size, opening, one_more, *queries]


def _memory(stage: Row) -> str:
    return f"{stage['private_gigabytes']:.1f} GB ({stage['resident_gigabytes']:.1f})"


def _exponent(rows: list[Row], title: str) -> float:
    """Return the exponent of the growth of the whole cost: the slope of its logarithm, by least squares."""
    stage, cost = COSTS[title]
    points = [(log10(row["facts"]), log10(row["facts"] * cost(row))) for row in rows if stage in row]
    middle_x, middle_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    return sum((x - middle_x) * (y - middle_y) for x, y in points) / spread if spread else float("nan")
