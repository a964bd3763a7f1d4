"""The floors that were set for event forecasts, in ``event_floors.json``, and whether they are reached."""

import json
from collections.abc import Callable

import numpy as np

from rendering.events import MIN_EVENTS, OURS, name_of, shown
from rendering.files import BENCHMARKS, Measurements, Row
from rendering.markdown import table

Cell = Callable[[Row, int], tuple[str, bool]]
"""From the forecasts of one benchmark, ours and the baselines by name, and how many windows overlap: what was measured,
and whether it is enough."""

PLACES = (("at_step", 1), ("at_step", 7), ("in_window", 7))
"""One step ahead, seven steps ahead, windows of seven steps."""
HEADER = ["floor", "", "one step ahead", "seven steps ahead", "windows of seven steps"]
NUM_SAMPLES = 10_000
"""Random outcomes of forecasts whose probabilities are right."""
RARE = 20
"""One in so many of them has a larger error than the one that is shown."""
FLOORS: Row = json.loads((BENCHMARKS / "event_floors.json").read_text(encoding="utf-8"))


def event_floors(measured: Measurements) -> list[str]:
    """Return each floor with what was measured, and whether it is reached."""
    files = shown(measured, parts=True)
    datasets = list(dict.fromkeys(row["dataset"]["name"] for row in files))
    lines: list[list[str]] = []

    def add(floor: str, dataset: str, cell: Cell, columns: int) -> None:
        for row in files:
            if row["dataset"]["name"] == dataset:
                cells = [_shown(cell, row["evaluations"], *place) for place in PLACES[:columns]]
                lines.append([floor, name_of(row), *cells, *[""] * (len(PLACES) - columns)])

    for title, key in (("AP", "average_precision"), ("P@n", "precision_at_n")):
        for dataset, floor in FLOORS[key].items():
            add(f"{title} ≥ {floor}", dataset, _at_least(key, floor), 1)
    for dataset, floor in FLOORS["times_the_best_baseline"].items():
        add(f"AP ≥ {floor} × best baseline", dataset, _times_best(floor), len(PLACES))
    points, percent = FLOORS["points_off_in_a_bin"], FLOORS["percent_off_in_the_sum"]
    for dataset in datasets:
        add(f"bins ≤ {points} points off", dataset, _worst_bin(points), len(PLACES))
    for dataset in datasets:
        add(f"sum within {percent} % of the events", dataset, _sum(percent), len(PLACES))
    return table(HEADER, lines)


def _shown(cell: Cell, evaluations: list[Row], part: str, horizon: int) -> str:
    metrics = next((one[part] for one in evaluations if one["horizon"] == horizon), {})
    if OURS not in metrics:
        return ""
    words, reached = cell(metrics, horizon if part == "in_window" else 1)
    return f"{words}: {'reached' if reached else '**not reached**'}"


def _at_least(key: str, floor: float) -> Cell:
    def cell(metrics: Row, overlap: int) -> tuple[str, bool]:
        value = metrics[OURS][key]
        return f"{value:.4f} ({100 * (value / floor - 1):+.1f} %)", value >= floor

    return cell


def _times_best(floor: float) -> Cell:
    def cell(metrics: Row, overlap: int) -> tuple[str, bool]:
        best = max(one["average_precision"] for name, one in metrics.items() if name != OURS)
        ratio = metrics[OURS]["average_precision"] / best
        return f"{ratio:.2f} ×", ratio >= floor

    return cell


def _worst_bin(limit: float) -> Cell:
    """Compare the largest error of a bin, in points, with that of forecasts whose probabilities are right."""

    def cell(metrics: Row, overlap: int) -> tuple[str, bool]:
        bins = [b for b in metrics[OURS]["reliability"] if b["forecasts"] * b["frequency"] >= MIN_EVENTS]
        if not bins:
            return f"no bin with {MIN_EVENTS} events", True
        error = max(100 * abs(one["probability"] - one["frequency"]) for one in bins)
        median, rare = _by_chance(bins, overlap)
        return f"{error:.1f} (by chance {median:.1f}, {rare:.1f})", error <= limit

    return cell


def _by_chance(bins: list[Row], overlap: int) -> tuple[float, float]:
    """Return the median of the largest error of a bin if all probabilities are right, and what one in RARE exceeds.

    Outcomes are drawn as if forecasts were independent. Of windows that overlap, one in so many counts.
    """
    generator = np.random.default_rng(0)
    worst = np.zeros(NUM_SAMPLES)
    for one in bins:
        number = max(one["forecasts"] // overlap, 1)
        frequency = generator.binomial(number, one["probability"], NUM_SAMPLES) / number
        worst = np.maximum(worst, 100 * np.abs(frequency - one["probability"]))
    return float(np.median(worst)), float(np.quantile(worst, 1 - 1 / RARE))


def _sum(limit: float) -> Cell:
    def cell(metrics: Row, overlap: int) -> tuple[str, bool]:
        excess = 100 * (metrics[OURS]["expected"] / max(metrics[OURS]["events"], 1) - 1)
        return f"{excess:+.1f} %", abs(excess) <= limit

    return cell


def event_times(measured: Measurements) -> list[str]:
    """Return the time and the memory of forecasts of one step."""
    lines = [
        [
            row["dataset"]["name"],
            row["hardware"],
            f"{row['forecast_seconds']['first']:.1f} s",
            f"{row['forecast_seconds']['next']:.2f} s",
            _memory(row),
            f"`{row['command']}`",
            (row["commit"] or "")[:8],
        ]
        for row in measured.events
        if "forecast_seconds" in row
    ]
    return table(["", "hardware", "first step", "next step", "memory", "command", "commit"], lines)


def _memory(row: Row) -> str:
    on_gpu = [f"{row['gpu_gigabytes']:.1f} GiB on the GPU"] if "gpu_gigabytes" in row else []
    in_all = [f"{row['gigabytes']:.1f} GiB"] if "gigabytes" in row else []
    return ", ".join([*on_gpu, *in_all])


FLOOR_BLOCKS = {"events, floors": event_floors, "events, time": event_times}
