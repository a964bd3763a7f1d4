"""Time and memory on generated data of the sizes of TGB 2.0, from ``tgb_sizes/``."""

from rendering.files import Measurements, Row
from rendering.markdown import NOTHING, table


def tgb_table(measured: Measurements) -> list[str]:
    """Return one row for each dataset and model. Times of whole splits are extrapolated from the measured queries."""
    rows = sorted(measured.tgb, key=lambda row: (row["facts"], row["model"]))
    header = ["dataset", "facts", "entities", "model", "fitting", "training, queries/s", "one epoch"]
    header += ["test, queries/s", "whole test split", "memory", "hardware"]
    return table(header, [_cells(row) for row in rows])


def _cells(row: Row) -> list[str]:
    training, test = row["training"], row["evaluation"]
    speed = training["queries"] / training["seconds"] if "queries" in training else None
    test_speed = test["queries"] / test["seconds"]
    memory = row["memory"].get("gpu_gigabytes") or row["memory"]["resident_gigabytes"]
    return [
        row["dataset"] + (" with static facts" if row["static"] else ""),
        f"{row['facts']:,}",
        f"{row['entities']:,}",
        f"`{row['model']}`",
        _duration(training["prepare_seconds"]),
        f"{speed:,.0f}" if speed else NOTHING,
        _duration(training["whole_epoch"] / speed) if speed else NOTHING,
        f"{test_speed:,.0f}",
        _duration(test["whole_split"] / test_speed),
        f"{memory:.1f} GB",
        row["hardware"],
    ]


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 120
        else f"{seconds / 60:.0f} min"
        if seconds < 7200
        else f"{seconds / 3600:.1f} h"
    )
