"""The walk on ICEWS14 from the text of the paper to the released code and to our settings, and other epochs."""

from statistics import mean

from rendering.files import Measurements, Row, changed_settings
from rendering.markdown import NOTHING, figure, metric_cells, metrics_of, percent, seeds, signed, table
from rendering.paper import CONVENTION, label
from titer.evaluation.published import METRICS, published

PREFIX = label("ICEWS14", "tuned", "walk-")
ASIDE = label("ICEWS14", "paper", "moving-average")
"""A result beside the walk: the text of the paper without the standardisation in the code of MINERVA."""
RELEASED_EPOCHS = 400
"""Epochs of the released code by default."""


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


def epochs_table(measured: Measurements) -> list[str]:
    """Return the results of `released` by the number of epochs beside the paper's, and which number comes closest."""
    lines: list[list[str]] = []
    closest: list[str] = []
    for dataset in ("ICEWS14", "ICEWS18"):
        by_epochs = _released_by_epochs(measured, dataset)
        if not by_epochs:
            continue
        paper = {metric: published("titer", dataset, metric) or 0.0 for metric in METRICS}
        lines.append([dataset, "the paper, epochs not stated", *map(figure, paper.values()), "", NOTHING])
        below: dict[int, float] = {}
        for epochs, rows in sorted(by_epochs.items()):
            below[epochs] = 100 * _mrr(rows) - paper["mrr"]
            title = f"{epochs} epochs" + (", the recipe" if rows is measured.of(label(dataset, "released")) else "")
            lines.append(["", title, *metric_cells(rows, CONVENTION), signed([below[epochs]]), seeds(rows)])
        if RELEASED_EPOCHS not in by_epochs:
            lines.append(["", f"{RELEASED_EPOCHS} epochs", *[NOTHING] * len(METRICS), NOTHING, "not trained"])
        best = min(below, key=lambda epochs: abs(below[epochs]))
        side = "below" if below[best] < 0 else "above"
        closest.append(f"- {dataset}: closest to the paper after {best} epochs, {abs(below[best]):.2f} MRR {side} it.")
    header = ["", "", *METRICS.values(), "MRR minus the paper's", "seeds"]
    return [*table(header, lines), "", *closest] if lines else []


def _released_by_epochs(measured: Measurements, dataset: str) -> dict[int, list[Row]]:
    """Return the results that have the settings of `released`, but for the number of epochs, by that number."""
    recipe = measured.of(label(dataset, "released"))
    return {
        rows[0]["config"]["training"]["epochs"]: rows
        for rows in measured.rows.values()
        if recipe
        and rows[0]["model"] == "titer"
        and rows[0]["dataset"]["name"] == dataset
        and set(changed_settings(recipe[0], rows[0])) <= {"training.epochs"}
    }


def seeds_of_the_text(measured: Measurements) -> list[str]:
    """Return a sentence with the MRR of every seed of the recipe `paper` on ICEWS14."""
    rows = measured.of(label("ICEWS14", "paper"))
    found = ", ".join(f"{percent([metrics_of(row, CONVENTION)['mrr']])} (seed {row['seed']})" for row in rows)
    return [f"On ICEWS14 the seeds of `paper` differ by several points of MRR: {found}."] if rows else []


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
    chosen = [[row for row in found if row["seed"] in both] for found in (rows, before or [])]
    added = [100 * (_mrr(chosen[0]) - _mrr(chosen[1]))] if both else []
    return [title, *metric_cells(rows, CONVENTION), signed(added) if before is not None else "", seeds(rows)]


def _mrr(rows: list[Row]) -> float:
    return mean(metrics_of(row, CONVENTION)["mrr"] for row in rows)


def _words(changes: Row) -> str:
    """Return changed settings as they are set on a command line."""
    return ", ".join(f"`{name}={str(value).lower()}`" for name, value in changes.items()) or NOTHING
