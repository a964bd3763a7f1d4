"""The floors that were set for event forecasts, and whether they are reached."""

import math
from collections.abc import Callable

from rendering.events import MIN_EVENTS, OURS, shown
from rendering.files import Measurements, Row
from rendering.markdown import table

Cell = Callable[[Row], tuple[str, bool]]
"""From the forecasts of one benchmark, ours and the baselines by name: what was measured, and whether it is enough."""

PLACES = (("at_step", 1), ("at_step", 7), ("in_window", 7))
"""One step ahead, seven steps ahead, windows of seven steps."""
HEADER = ["floor", "", "one step ahead", "seven steps ahead", "windows of seven steps"]
RATIO, MAX_ERROR, MAX_EXCESS = 1.25, 0.04, 0.1


def event_floors(measured: Measurements) -> list[str]:
    """Return each floor with what was measured, and whether it is reached."""
    found = {row["dataset"]["name"]: row["evaluations"] for row in shown(measured)}
    floors: list[tuple[str, Cell, dict[str, int]]] = [
        ("AP ≥ 0.078", _at_least("average_precision", 0.078), {"ICEWS14": 1}),
        ("P@n ≥ 0.16", _at_least("precision_at_n", 0.16), {"ICEWS14": 1}),
        (f"AP ≥ {RATIO} × best baseline", _ratio, {"ICEWS14": 3, "ICEWS18": 3}),
        ("AP ≥ 0.77", _at_least("average_precision", 0.77), {"YAGO": 1}),
        (f"bins ≤ {100 * MAX_ERROR:.0f} points off", _worst_bin, dict.fromkeys(found, 3)),
        ("sum within 10 % of the events", _sum, dict.fromkeys(found, 3)),
    ]
    lines: list[list[str]] = []
    for floor, cell, places in floors:
        for number, (dataset, columns) in enumerate(places.items()):
            if dataset in found:
                cells = [_shown(cell, found[dataset], *place) for place in PLACES[:columns]]
                lines.append([floor if number == 0 else "", dataset, *cells, *[""] * (len(PLACES) - columns)])
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


def _ratio(metrics: Row) -> tuple[str, bool]:
    ratio = metrics[OURS]["average_precision"] / max(
        one["average_precision"] for name, one in metrics.items() if name != OURS
    )
    return f"{ratio:.2f} ×", ratio >= RATIO


def _worst_bin(metrics: Row) -> tuple[str, bool]:
    """Return the largest error of a bin, with the standard error that chance alone gives its frequency."""
    errors = [
        (abs(one["probability"] - one["frequency"]), one)
        for one in metrics[OURS]["reliability"]
        if one["forecasts"] * one["frequency"] >= MIN_EVENTS
    ]
    if not errors:
        return "no bin with 100 events", True
    error, worst = max(errors, key=lambda item: item[0])
    chance = math.sqrt(worst["probability"] * (1 - worst["probability"]) / worst["forecasts"])
    return f"{100 * error:.1f} ± {100 * chance:.1f}", error <= MAX_ERROR


def _sum(metrics: Row) -> tuple[str, bool]:
    excess = metrics[OURS]["expected"] / max(metrics[OURS]["events"], 1) - 1
    return f"{100 * excess:+.1f} %", abs(excess) <= MAX_EXCESS


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
