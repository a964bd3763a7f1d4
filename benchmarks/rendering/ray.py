"""Throughput of batch jobs on Ray beside the local engine, from ``ray/``."""

from rendering.files import Measurements, Row
from rendering.markdown import table


def ray_table(measured: Measurements) -> list[str]:
    """Return one row for each engine and number of workers, with the overhead against the local engine."""
    lines: list[list[str]] = []
    for row in measured.ray.values():
        local = row["engines"][0]
        for one in row["engines"]:
            name = "local" if one["engine"] == "local" else f"ray, {one['workers']} worker{'s'[: one['workers'] > 1]}"
            overhead = "" if one is local else f"{100 * (_cpu(one) / _cpu(local) - 1):+.0f} %"
            lines.append(
                [
                    f"`{row['model']}`",
                    name,
                    f"{one['startup_seconds']:.1f}",
                    f"{one['questions'] / one['answering_seconds']:,.0f}",
                    f"{one['questions'] / one['cpu_seconds']:,.0f}",
                    overhead,
                    f"{one['seconds']:.0f}",
                    f"{one['load_before']:.1f}",
                ]
            )
    header = ["model", "engine", "until the first partition, s", "questions/s", "questions/s of CPU time of a worker"]
    return table([*header, "CPU time against local", "in all, s", "load before"], lines)


def _cpu(row: Row) -> float:
    return row["cpu_seconds"] / row["questions"]
