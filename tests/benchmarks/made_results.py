"""Made-up results, and cells of rendered tables, for the tests of rendering."""

from typing import Any

from rendering.files import Measurements, Row
from titer.evaluation.published import METRICS


def result(label: str, value: float, seed: int = 0, **more: Any) -> Row:
    """Return a result with its value as MRR, and multiples of it as the other metrics."""
    metrics = {metric: value * (i + 1) for i, metric in enumerate(METRICS)}
    return {
        "label": label,
        "model": label.partition("/")[0],
        "dataset": {"name": label.partition("/")[2].partition("-")[0].upper()},
        "seed": seed,
        "config": {"model": {"relative_time": "static" not in label}, "training": {"seed": seed}},
        "metrics": metrics,
        "conventions": {"paper": metrics, "realistic": metrics},
        "entities": {"unseen": {metric: of_all / 2 for metric, of_all in metrics.items()}},
        "hardware": "a computer",
        "seconds": {"training": 7.0},
        "command": f"titer reproduce {label}",
        **more,
    }


def results(**values: list[float]) -> Measurements:
    """Return results by label, ``__`` instead of a slash and ``_`` instead of a dash, with a value for each seed."""
    labels = {name.replace("__", "/").replace("_", "-"): of_one for name, of_one in values.items()}
    return Measurements({label: [result(label, value, i) for i, value in enumerate(v)] for label, v in labels.items()})


def cells(lines: list[str], *first: str) -> list[str]:
    """Return the cells after the first ones of the row that begins with these."""
    (line,) = (line for line in lines if line.startswith("| " + " | ".join(first) + " |"))
    return line[2:-2].split(" | ")[len(first) :]
