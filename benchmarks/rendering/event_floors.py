"""The floors that were set for event forecasts, in ``event_floors.json``, and whether they are reached."""

import json
import math
from collections.abc import Callable

from rendering.events import MIN_EVENTS, OURS, shown
from rendering.files import BENCHMARKS, Measurements, Row
from rendering.markdown import table

Cell = Callable[[Row], tuple[str, bool]]
"""From the forecasts of one benchmark, ours and the baselines by name: what was measured, and whether it is enough."""

PLACES = (("at_step", 1), ("at_step", 7), ("in_window", 7))
"""One step ahead, seven steps ahead, windows of seven steps."""
HEADER = ["floor", "", "one step ahead", "seven steps ahead", "windows of seven steps"]
FLOORS: Row = json.loads((BENCHMARKS / "event_floors.json").read_text(encoding="utf-8"))


def event_floors(measured: Measurements) -> list[str]:
    """Return each floor with what was measured, and whether it is reached."""
    found = {row["dataset"]["name"]: row["evaluations"] for row in shown(measured)}
    lines: list[list[str]] = []

    def add(floor: str, dataset: str, cell: Cell, columns: int) -> None:
        if dataset in found:
            cells = [_shown(cell, found[dataset], *place) for place in PLACES[:columns]]
            lines.append([floor, dataset, *cells, *[""] * (len(PLACES) - columns)])

    for title, key in (("AP", "average_precision"), ("P@n", "precision_at_n")):
        for dataset, floor in FLOORS[key].items():
            add(f"{title} ≥ {floor}", dataset, _at_least(key, floor), 1)
    for dataset, floor in FLOORS["times_the_best_baseline"].items():
        add(f"AP ≥ {floor} × best baseline", dataset, _times_best(floor), len(PLACES))
    points, percent = FLOORS["points_off_in_a_bin"], FLOORS["percent_off_in_the_sum"]
    for dataset in found:
        add(f"bins ≤ {points} points off", dataset, _worst_bin(points), len(PLACES))
    for dataset in found:
        add(f"sum within {percent} % of the events", dataset, _sum(percent), len(PLACES))
    return table(HEADER, lines)


def _shown(cell: Cell, evaluations: list[Row], part: str, horizon: int) -> str:
    metrics = next((one[part] for one in evaluations if one["horizon"] == horizon), {})
    if OURS not in metrics:
        return ""
    words, reached = cell(metrics)
    return f"{words}: {'reached' if reached else '**not reached**'}"


def _at_least(key: str, floor: float) -> Cell:
    def cell(metrics: Row) -> tuple[str, bool]:
        value = metrics[OURS][key]
        return f"{value:.4f} ({100 * (value / floor - 1):+.1f} %)", value >= floor

    return cell


def _times_best(floor: float) -> Cell:
    def cell(metrics: Row) -> tuple[str, bool]:
        best = max(one["average_precision"] for name, one in metrics.items() if name != OURS)
        ratio = metrics[OURS]["average_precision"] / best
        return f"{ratio:.2f} ×", ratio >= floor

    return cell


def _worst_bin(limit: float) -> Cell:
    """Compare the largest error of a bin, with the standard error that chance alone gives its frequency, in points."""

    def cell(metrics: Row) -> tuple[str, bool]:
        errors = [
            (100 * abs(one["probability"] - one["frequency"]), one)
            for one in metrics[OURS]["reliability"]
            if one["forecasts"] * one["frequency"] >= MIN_EVENTS
        ]
        if not errors:
            return f"no bin with {MIN_EVENTS} events", True
        error, worst = max(errors, key=lambda item: item[0])
        chance = 100 * math.sqrt(worst["probability"] * (1 - worst["probability"]) / worst["forecasts"])
        return f"{error:.1f} ± {chance:.1f}", error <= limit

    return cell


def _sum(limit: float) -> Cell:
    def cell(metrics: Row) -> tuple[str, bool]:
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
