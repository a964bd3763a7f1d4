"""How cost grows with the number of facts, from ``scale/``."""

from collections.abc import Callable
from math import log10

from rendering.files import Measurements, Row
from rendering.markdown import NOTHING, table
from titer.drawing.charts import Panel, panel_chart, svg_file

PICTURE = "pictures/scale.svg"
Costs = dict[str, tuple[str, Callable[[Row], float]]]
COSTS: Costs = {
    "import": ("import", lambda row: 1e6 * row["import"]["facts_cpu_seconds"] / row["facts"]),
    "history": ("index", lambda row: 1e6 * row["index"]["history_cpu_seconds"] / row["facts"]),
    "pair index": ("index", lambda row: 1e6 * row["index"]["pairs_cpu_seconds"] / row["facts"]),
}
"""CPU time per fact in microseconds, by the title of the column, with the stage that measures it."""
QUERY_COSTS: Costs = {
    "training": ("train", lambda row: 1e3 * row["train"]["queries_cpu_seconds"] / row["train"]["queries"]),
    "ranking": ("forecast", lambda row: 1e3 * row["forecast"]["queries_cpu_seconds"] / row["forecast"]["queries"]),
}
"""CPU time per query in milliseconds. An epoch has two queries for each fact."""


def scale_table(measured: Measurements) -> list[str]:
    """Return the cost of every stage, one row for each size, and the exponents of growth."""
    rows = _rows(measured)
    lines = [
        [
            f"{row['facts']:,}",
            f"{row['entities']:,}",
            *_costs(row, COSTS, 2),
            *_others(row),
            *_costs(row, QUERY_COSTS, 1),
        ]
        for row in rows
    ]
    header = ["facts", "entities", *(f"{title}, µs/fact" for title in COSTS)]
    header += ["index, bytes/fact", "opening, s", "one more fact, s", *(f"{title}, ms/query" for title in QUERY_COSTS)]
    if len(rows) > 1:
        growth, of_queries = ([_growth(rows, *cost) for cost in costs.values()] for costs in (COSTS, QUERY_COSTS))
        lines.append(["growth", "", *growth, *[""] * 3, *of_queries])
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
    """Draw the CPU time per fact and per query over the number of facts."""
    rows = _rows(measured)
    panels = [
        Panel(f"{title}, {unit}", [(log10(row["facts"]), cost(row)) for row in rows if stage in row], "first")
        for costs, unit in ((COSTS, "µs/fact"), (QUERY_COSTS, "ms/query"))
        for title, (stage, cost) in costs.items()
    ]
    # A chart cannot have a panel without points.
    panels = [panel for panel in panels if panel.points]
    return svg_file(panel_chart("CPU time per fact and per query", "facts, as a power of ten", panels))


def _rows(measured: Measurements) -> list[Row]:
    return sorted(measured.scale.values(), key=lambda row: row["facts"])


def _costs(row: Row, costs: Costs, digits: int) -> list[str]:
    return [f"{cost(row):.{digits}f}" if stage in row else NOTHING for stage, cost in costs.values()]


def _others(row: Row) -> list[str]:
    """Return the cells of a row that are no costs per fact or query."""
    size = f"{row['index']['bytes_per_fact']:.0f}" if "index" in row else NOTHING
    opening = one_more = NOTHING
    if "open" in row:
        opening = f"{row['open']['dataset_cpu_seconds'] + row['open']['index_cpu_seconds']:.1f}"
        one_more = f"{row['open']['one_more_fact_cpu_seconds']:.2f}"
    return [size, opening, one_more]


def _memory(stage: Row) -> str:
    return f"{stage['private_gigabytes']:.1f} GB ({stage['resident_gigabytes']:.1f})"


def _growth(rows: list[Row], stage: str, cost: Callable[[Row], float]) -> str:
    """Return the growth of the cost of all facts or their queries: the slope of its logarithm, by least squares."""
    points = [(log10(row["facts"]), log10(row["facts"] * cost(row))) for row in rows if stage in row]
    if len(points) < 2:
        return NOTHING
    middle_x, middle_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    return f"n^{sum((x - middle_x) * (y - middle_y) for x, y in points) / spread:.2f}"
