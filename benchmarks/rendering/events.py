"""Results of event forecasts, from ``benchmarks/events``."""

from functools import partial

from rendering.comparison import ALL
from rendering.files import Measurements, Row
from rendering.markdown import NOTHING, table
from titer.drawing.charts import reliability, svg_file
from titer.evaluation.calibration import CalibrationBin

OURS = "titer"
SPLITS = {"test": "test split", "valid": "**validation split**, on which the calibration was fitted"}
PICTURE = "pictures/events-{}.svg"
COLUMNS = {
    "AP": "average_precision",
    "P@n": "precision_at_n",
    "AP repeated": "average_precision_repeated",
    "AP never seen": "average_precision_new",
    "Brier skill": "brier_skill",
    "log score": "log_score",
}
LENGTHS = ("100", "1000")
"""Lengths of lists whose recall is shown."""
MIN_EVENTS = 100
"""Events that a bin must have for its error to count."""


def shown(measured: Measurements, *, parts: bool = False) -> list[Row]:
    """Return one file for each benchmark: that of the test split if there is one, else that of the validation split.

    Args:
        measured: All files.
        parts: Whether to return files of a part of a split too, each after that of the whole split.
    """
    found: list[Row] = []
    for dataset in ALL:
        files = [row for row in measured.events if row["dataset"]["name"] == dataset and row["evaluations"]]
        best = sorted(files, key=lambda row: list(SPLITS).index(row["split"]))
        found += [row for row in best if not row.get("until")][:1]
        found += [row for row in best if row.get("until") and parts]
    return found


def name_of(row: Row) -> str:
    """Return the name of the dataset of a file, and the last evaluated step if it is not that of the split."""
    return row["dataset"]["name"] + (f" until {row['until']}" if row.get("until") else "")


def event_table(measured: Measurements, part: str, horizon: int) -> list[str]:
    """Return the metrics of the event forecasts and the baselines, of single steps or of windows, at one horizon."""
    lines: list[list[str]] = []
    for row in shown(measured, parts=True):
        for evaluation in row["evaluations"]:
            if evaluation["horizon"] == horizon:
                rows = evaluation[part]
                for place, (name, metrics) in enumerate(rows.items()):
                    title = f"{name_of(row)}, {SPLITS[row['split']]}" if place == 0 else ""
                    lines.append([title, name, *_cells(metrics)])
    return table(["", "", *COLUMNS, *(f"R@{length}" for length in LENGTHS), "sum / events", "worst bin"], lines)


def _cells(metrics: Row) -> list[str]:
    cells = [f"{metrics[key]:z.4f}" for key in COLUMNS.values()]  # no negative zero
    cells += [f"{metrics['recall'][length]:.3f}" for length in LENGTHS]
    errors = [
        abs(one["probability"] - one["frequency"])
        for one in metrics["reliability"]
        if one["forecasts"] * one["frequency"] >= MIN_EVENTS
    ]
    worst = f"{100 * max(errors):.1f}" if errors else NOTHING
    return [*cells, f"{metrics['expected'] / max(metrics['events'], 1):.3f}", worst]


def waiting_table(measured: Measurements) -> list[str]:
    """Return the errors of the time until facts happen again."""
    lines: list[list[str]] = []
    for row in shown(measured):
        for evaluation in row["evaluations"]:
            for place, (name, metrics) in enumerate(evaluation["waiting"].items()):
                title = f"{row['dataset']['name']}, {SPLITS[row['split']]}" if place == 0 else ""
                lines.append([title, name, f"{metrics['crps']:.3f}", f"{metrics['median_error']:.2f}"])
    return table(["", "", "CRPS", "error of the median"], lines)


def reliability_table(measured: Measurements) -> list[str]:
    """Return forecasts by probability with the share that happened, and the pictures of them."""
    lines: list[list[str]] = []
    pictures: list[str] = []
    for row in shown(measured):
        name = row["dataset"]["name"]
        for place, one in enumerate(_bins(row)):
            title = name if place == 0 else ""
            lines.append([title, f"{one['forecasts']:,}", f"{one['probability']:.3f}", f"{one['frequency']:.3f}"])
        pictures += ["", f"![Reliability of the events of {name}]({PICTURE.format(name.lower())})"]
    return [*table(["", "forecasts", "mean probability", "happened"], lines), *pictures]


def event_pictures(measured: Measurements) -> dict[str, str]:
    """Draw a reliability diagram for each benchmark, one step ahead, by path in ``docs``."""
    found: dict[str, str] = {}
    for row in shown(measured):
        bins = [CalibrationBin(b["forecasts"], b["probability"], b["frequency"]) for b in _bins(row)]
        title = f"Events of {row['dataset']['name']}, {row['split']} split, one step ahead"
        axes, words = ("probability of an event", "share that happened"), ("forecasts", "happened")
        found[PICTURE.format(row["dataset"]["name"].lower())] = svg_file(reliability(bins, title, axes, words))
    return found


def event_commands(measured: Measurements) -> list[str]:
    """Return the command, commit and hardware behind each file."""
    lines = [
        [
            name_of(row),
            f"`{row['command']}`",
            (row["commit"] or NOTHING)[:8],
            row["hardware"],
            str(row["seed"]),
        ]
        for row in shown(measured, parts=True)
    ]
    return table(["", "command", "commit", "hardware", "seed"], lines)


def _bins(row: Row) -> list[Row]:
    """Return the reliability bins of our forecasts one step ahead."""
    first = next((one for one in row["evaluations"] if one["horizon"] == 1), None)
    return first["at_step"][OURS]["reliability"] if first else []


EVENT_BLOCKS = {
    "events, one step ahead": partial(event_table, part="at_step", horizon=1),
    "events, seven steps ahead": partial(event_table, part="at_step", horizon=7),
    "events, windows of seven steps": partial(event_table, part="in_window", horizon=7),
    "events, windows of thirty steps": partial(event_table, part="in_window", horizon=30),
    "events, waiting times": waiting_table,
    "events, reliability": reliability_table,
    "events, commands": event_commands,
}
