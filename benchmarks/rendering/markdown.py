"""Tables and numbers in Markdown."""

from collections.abc import Iterable, Sequence
from statistics import mean, stdev

from rendering.files import Row
from titer.evaluation.comparison import cell
from titer.evaluation.published import METRICS

NOTHING = "–"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table; empty if it has no rows."""
    body = list(rows)
    lines = [header, ["---"] * len(header), *body] if body else []
    return ["| " + " | ".join(line) + " |" for line in lines]


def percent(values: Sequence[float]) -> str:
    """Return the mean times a hundred, with the standard deviation of several values."""
    return cell([100 * value for value in values])


def signed(values: Sequence[float]) -> str:
    """Return the mean of differences with its sign, with the standard deviation of several values."""
    if not values:
        return NOTHING
    return f"{mean(values):+.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def figure(value: float | None) -> str:
    """Return a published figure, or a dash."""
    return NOTHING if value is None else f"{value:.2f}"


def metrics_of(row: Row, convention: str = "realistic", group: str | None = None) -> Row:
    """Return the metrics of a result under a convention, or of one group of its queries."""
    return row["entities"][group] if group else row["conventions"][convention]


def metric_cells(rows: Sequence[Row], convention: str = "realistic", group: str | None = None) -> list[str]:
    """Return a cell for every metric: the mean over seeds."""
    found = [metrics_of(row, convention, group) for row in rows]
    return [percent([metrics[key] for metrics in found]) for key in METRICS]


def seeds(rows: Sequence[Row]) -> str:
    """Return how many seeds there are."""
    return str(len(rows)) if rows else NOTHING
