"""Tables over all models, and the list of commands."""

from rendering.files import Measurements, Row
from rendering.markdown import NOTHING, metric_cells, metrics_of, percent, seeds, table
from rendering.paper import TABLE_ROWS
from titer.evaluation.comparison import cell
from titer.evaluation.published import DATASETS, METRICS

MIXTURE = {
    "path_mixture/icews14": "the path mixture",
    "path_mixture/icews14-no-direct": "without direct past facts between subject and answer",
    "path_mixture/icews14-no-two-hops": "without paths of two hops of any relation",
    "path_mixture/icews14-no-same-relation": "without paths that end in the query's relation",
    "path_mixture/icews14-no-trust": "without the factor that weights all paths to an answer",
    "path_mixture/icews14-no-prior": "without embeddings (and so without names)",
    "path_mixture/icews14-no-names": "without names",
    "path_mixture/icews18": "the path mixture, ICEWS18",
    "path_mixture/icews18-no-names": "without names, ICEWS18",
}
EARLIER = {
    "titer/icews14-earlier-paper": "ICEWS14, an earlier form of the recipe `paper`: 100 epochs, hours, best epoch",
    "titer/icews18-45-epochs": "ICEWS18, 45 epochs",
    "titer/icews18-55-epochs": "ICEWS18, 55 epochs",
    "titer/icews18": "ICEWS18, 65 epochs, the configuration",
    "titer/yago-first": "YAGO, entropy weight decayed per batch, 50 epochs",
    "titer/yago-second": "YAGO, decayed per epoch, 30 epochs",
    "titer/yago": "YAGO, decayed more slowly, dropout, 40 epochs, the configuration",
}


def model_table(measured: Measurements, group: str | None = None) -> list[str]:
    """Return the MRR of every model on every dataset, for all queries or one group of them."""
    lines = []
    for title, found in _found(measured).items():
        cells = [percent([metrics_of(row, group=group)["mrr"] for row in rows]) for rows in found]
        lines.append([title, *cells, " / ".join(map(seeds, found))])
    return table(["", *DATASETS, "seeds"], lines)


def calibration_table(measured: Measurements) -> list[str]:
    """Return the calibration error and the temperature of every model that has them."""
    lines = []
    for title, found in _found(measured).items():
        known = [[row["calibration"] for row in rows if "calibration" in row] for rows in found]
        errors = [percent([one["expected_calibration_error"] for one in of_one]) for of_one in known]
        temperatures = [cell([one["temperature"] for one in of_one]) for of_one in known]
        if any(known):
            lines += [[title, "expected calibration error, %", *errors], ["", "temperature", *temperatures]]
    without = [
        f"{label}, seed {row['seed']}"
        for label in sorted(measured.rows)
        for row in measured.rows[label]
        if "calibration" not in row
    ]
    note = ["", f"Results that are older than this measurement and have none: {'; '.join(without)}."] if without else []
    return [*table(["", "", *DATASETS], lines), *note]


def small_table(measured: Measurements, labels: dict[str, str], group: str | None = None) -> list[str]:
    """Return the metrics of some results, for all queries or one group of them."""
    found = {text: measured.of(label) for label, text in labels.items()}
    lines = [[text, *metric_cells(rows, group=group), seeds(rows)] for text, rows in found.items() if rows]
    return table(["", *METRICS.values(), "seeds"], lines)


def first_evaluations(measured: Measurements) -> list[str]:
    """Return the first evaluations of other models that were not kept, each followed by the one that was."""
    firsts = sorted(label for label in measured.rows if label.endswith("-first") and not label.startswith("titer/"))
    labels: dict[str, str] = {}
    for first in firsts:
        kept = first.removesuffix("-first")
        labels |= {first: f"{kept}, first", kept: f"{kept}, kept"}
    return small_table(measured, labels)


def notes(measured: Measurements) -> list[str]:
    """Return the notes of the results in the tables over all models."""
    shown = sorted(
        f"{model}/{dataset.lower()}{ending}" for model, ending in TABLE_ROWS.values() for dataset in DATASETS
    )
    return [f"- {label}: {row['note']}" for label in shown for row in measured.of(label) if row.get("note")]


def commands(measured: Measurements) -> list[str]:
    """Return the command, the commit, the hardware and the cost of each result."""
    lines = [
        [
            f"{label}, seed {row['seed']}",
            f"{100 * row['metrics']['mrr']:.2f}",
            row["hardware"],
            f"{row['seconds']['training']:.0f}",
            f"{row['gpu_gigabytes']:.1f} GB" if row.get("gpu_gigabytes") else NOTHING,
            _commit(row),
            f"`{row['command']}`",
        ]
        for label in sorted(measured.rows)
        for row in measured.rows[label]
    ]
    return table(["result", "MRR", "hardware", "training, seconds", "GPU memory", "commit", "command"], lines)


def _commit(row: Row) -> str:
    """Return the commit of a result, with a plus sign if the sources had changes.

    For a file that is older than this field it is the commit that added the result.
    """
    if "commit" not in row:
        return f"in `{row['recorded_in'][:9]}`"
    return f"`{row['commit'][:9]}{'+' if row.get('modified') else ''}`"


def _found(measured: Measurements) -> dict[str, list[list[Row]]]:
    """Return the results of each row on every dataset, where there are any."""
    rows = {
        title: [measured.of(f"{model}/{dataset.lower()}{ending}") for dataset in DATASETS]
        for title, (model, ending) in TABLE_ROWS.items()
    }
    return {title: found for title, found in rows.items() if any(found)}
