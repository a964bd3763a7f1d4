"""The walk on ICEWS14 from the text of the paper to the released code and to our settings, one change at a time."""

from statistics import mean

from rendering.files import Measurements, Row, changed_settings
from rendering.markdown import NOTHING, metric_cells, metrics_of, seeds, signed, table
from rendering.paper import CONVENTION, label
from titer.evaluation.published import METRICS

PREFIX = label("ICEWS14", "tuned", "walk-")
ASIDE = label("ICEWS14", "paper", "moving-average")
"""A result beside the walk: the text of the paper without the standardisation in the code of MINERVA."""


def walk_table(measured: Measurements) -> list[str]:
    """Return a row for every step: the settings it changes, its metrics, and the MRR that it adds."""
    labels = [name for name in sorted(measured.rows) if name.startswith(PREFIX)]
    if not labels:
        return []
    first, last = measured.of(label("ICEWS14", "paper")), measured.of(label("ICEWS14", "tuned"))
    steps = [rows for rows in (*map(measured.of, labels), last) if rows]
    lines = [_line("recipe `paper`", first)] if first else []
    for before, rows in zip([first, *steps], steps, strict=False):
        words = _words(changed_settings(before[0], rows[0])) if before else NOTHING
        lines.append(_line(f"{words}: recipe `tuned`" if rows is last else words, rows, before))
        if rows is steps[0] and (aside := measured.of(ASIDE)):
            lines.append(_line(f"*only here: {_words(changed_settings(rows[0], aside[0]))}*", aside, rows))
    if released := measured.of(label("ICEWS14", "released")):
        lines.append(_line("*for comparison: recipe `released`*", released))
    return table(["settings changed, in addition to the rows above", *METRICS.values(), "MRR added", "seeds"], lines)


def order_table(measured: Measurements) -> list[str]:
    """Return `released` with the facts of each time step in the order of the files and in reverse, by split."""
    lines = []
    for dataset in ("ICEWS14", "ICEWS18"):
        for (name, split), rows in measured.trials.items():
            if name.startswith(label(dataset, "released")):
                order = "reverse" if "reversed" in name else "of the files"
                epochs = str(rows[0]["config"]["training"]["epochs"])
                lines.append([dataset, epochs, split, order, *metric_cells(rows, CONVENTION), seeds(rows)])
    lines.sort(key=lambda line: (line[0], int(line[1]), line[2], line[3]))
    return table(["", "epochs", "split", "order", *METRICS.values(), "seeds"], lines) if lines else []


def _line(title: str, rows: list[Row], before: list[Row] | None = None) -> list[str]:
    """Return a row of the table; what it adds is the difference over the seeds that both results have."""
    both = {row["seed"] for row in rows} & {row["seed"] for row in before or []}
    added = [100 * (_mrr(rows, both) - _mrr(before or [], both))] if both else []
    return [title, *metric_cells(rows, CONVENTION), signed(added) if before is not None else "", seeds(rows)]


def _mrr(rows: list[Row], chosen: set[int]) -> float:
    return mean(metrics_of(row, CONVENTION)["mrr"] for row in rows if row["seed"] in chosen)


def _words(changes: Row) -> str:
    """Return changed settings as they are set on a command line."""
    return ", ".join(f"`{name}={str(value).lower()}`" for name, value in changes.items()) or NOTHING
