"""Partitions of questions, ordered by time: the units of work of a batch job."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from titer.data.time_axis import TimeAxis
from titer.errors import TiterError

PARTITION_SIZE = 8192
"""Questions in a partition, unless another size is chosen."""
SORTED_ROWS = 1 << 20
"""Questions that are sorted in memory at a time."""
NO_STEP = np.iinfo(np.int64).max
"""The place in the order of questions without a time, and of those whose time cannot be read: at the end."""


def partitions(questions: Iterable[pa.Table], axis: TimeAxis, size: int) -> Iterator[pa.Table]:
    """Yield all questions ordered by time step, those of one step in their order, as partitions.

    A partition has whole time steps. Only a step with more than ``size`` questions is divided. The partitions depend
    on nothing but the arguments. Questions are sorted on disk, so any number of them fits into memory.

    Args:
        questions: Tables of questions, with their numbers in ``question``.
        axis: The calendar that turns times into steps.
        size: How many questions a partition has at most.
    """
    with TemporaryDirectory(prefix="titer-") as folder:
        runs = [_stored(table, Path(folder) / f"{i}.arrow") for i, table in enumerate(_sorted_runs(questions, axis))]
        held: list[pa.Table] = []
        for table in _steps(runs):
            if held and sum(map(len, held)) + len(table) > size:
                yield pa.concat_tables(held)
                held = []
            while len(table) > size:
                yield table.slice(0, size)
                table = table.slice(size)
            held.append(table)
        if held:
            yield pa.concat_tables(held)


def _sorted_runs(questions: Iterable[pa.Table], axis: TimeAxis) -> Iterator[pa.Table]:
    held: list[pa.Table] = []
    known: dict[str | None, int] = {}
    for table in questions:
        times = table.column("time").combine_chunks().dictionary_encode("encode")
        steps = np.array([_step(time, axis, known) for time in times.dictionary.to_pylist()], dtype=np.int64)
        held.append(table.append_column("step", pa.array(steps[times.indices.to_numpy()])))
        if sum(map(len, held)) >= SORTED_ROWS:
            yield _sorted(held)
            held = []
    if held:
        yield _sorted(held)


def _step(time: str | None, axis: TimeAxis, known: dict[str | None, int]) -> int:
    if time not in known:
        try:
            known[time] = NO_STEP if time is None else axis.step(time)
        except TiterError:
            known[time] = NO_STEP  # the error is in the answer
    return known[time]


def _sorted(tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables).sort_by([("step", "ascending"), ("question", "ascending")])


def _stored(table: pa.Table, path: Path) -> pa.Table:
    """Return a table that is in a file instead of in memory."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def _steps(runs: list[pa.Table]) -> Iterator[pa.Table]:
    """Yield the questions of each time step. Runs are in the order of the questions."""
    places = [np.unique(run.column("step").to_numpy(), return_index=True, return_counts=True) for run in runs]
    slices: dict[int, list[pa.Table]] = {}
    for run, (steps, starts, counts) in zip(runs, places, strict=True):
        for step, start, count in zip(steps.tolist(), starts.tolist(), counts.tolist(), strict=True):
            slices.setdefault(step, []).append(run.slice(start, count))
    for step in sorted(slices):
        yield pa.concat_tables(slices[step]).drop_columns(["step"])
