"""The walk on ICEWS14 from the text of the paper to the released code and to our settings, one change at a time."""

from statistics import mean

from rendering.files import Measurements, Row, changed_settings
from rendering.markdown import NOTHING, metric_cells, metrics_of, seeds, signed, table
from rendering.paper import CONVENTION, label
from titer.evaluation.published import METRICS

PREFIX = label("ICEWS14", "paper", "walk-")


def walk_table(measured: Measurements) -> list[str]:
    """Return a row for every step: the settings it changes, its metrics, and the MRR that it adds."""
    steps = [measured.rows[name] for name in sorted(measured.rows) if name.startswith(PREFIX)]
    if not steps:
        return []
    lines = []
    before: list[Row] = measured.of(label("ICEWS14", "paper"))
    for rows in steps:
        changes = changed_settings(before[0], rows[0]) if before else {}
        gain = [100 * (_mrr(rows) - _mrr(before))] if before else []
        lines.append([_words(changes), *metric_cells(rows, CONVENTION), signed(gain), seeds(rows)])
        before = rows
    ends = [
        [f"recipe `{recipe}`", *metric_cells(rows, CONVENTION), "", seeds(rows)]
        for recipe in ("paper", "released", "tuned")
        if (rows := measured.of(label("ICEWS14", recipe)))
    ]
    return table(["settings changed, in addition to all rows above", *METRICS.values(), "MRR added", "seeds"],
                 [*ends[:1], *lines, *ends[1:]])  # fmt: skip


def _mrr(rows: list[Row]) -> float:
    return mean(metrics_of(row, CONVENTION)["mrr"] for row in rows)


def _words(changes: Row) -> str:
    """Return changed settings as they are set on a command line."""
    return ", ".join(f"`{name}={str(value).lower()}`" for name, value in changes.items()) or NOTHING
