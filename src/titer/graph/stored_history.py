"""Histories of large datasets and their pair indexes, stored in files so that they are built only once."""

import os
import shutil
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from titer.data.dataset import SPLITS, Dataset
from titer.data.dataset_folder import is_in_run
from titer.data.download import cache_folder
from titer.data.facts import Facts
from titer.errors import ConfigError
from titer.graph.edge_columns import COLUMNS, edge_columns
from titer.graph.history import History
from titer.graph.pair_columns import append_columns
from titer.graph.stored_columns import Append, Stored, locked, open_columns, write_columns

SWITCH = "TITER_INDEX"
"""Environment variable: ``off`` neither reads nor writes stored indexes, ``always`` also stores those of small data."""
FOLDER = "index"
MIN_FACTS = 1_000_000
"""Facts from which on an index is stored; one of fewer facts is built in a few seconds."""
MAX_BYTES_PER_FACT = 450
"""Free space that is needed to store an index."""


def history_of(dataset: Dataset, until: str = SPLITS[-1]) -> History:
    """Return the history of the splits of a dataset up to one of them.

    If the dataset was opened from a folder and these splits are large, the history and its pair index are stored: in
    the folder ``index`` of the dataset folder, or in the cache if that cannot be written. Those of a part of the facts
    have a folder of their own there, such as ``train+valid``; for the dataset of a run it is in the cache if possible,
    where runs with the same facts share it. All are memory-mapped when they are used again, by this process or others.
    Stored files of other facts or of another version of titer, and damaged ones, are replaced. The environment variable
    ``TITER_INDEX=off`` does without stored files, and ``TITER_INDEX=always`` stores them for small datasets too.

    Args:
        dataset: The dataset.
        until: The last split whose facts the history has: ``train``, ``valid`` or ``test``.

    Returns:
        The history, on the CPU. It has no fact of a later split.

    Raises:
        ConfigError: If ``TITER_INDEX`` has another value.
    """
    names = [name for name in SPLITS[: SPLITS.index(until) + 1] if len(dataset.splits[name])]
    num_facts = sum(len(dataset.splits[name]) for name in names)
    switch = index_switch()
    is_small = num_facts < MIN_FACTS and switch != "always"
    if dataset.folder is None or is_small or switch == "off":
        return History(_facts(dataset, names), dataset.vocabulary)
    store = _Store(dataset, names, num_facts)
    found = store.columns("history", lambda append: edge_columns(_facts(dataset, names), dataset.vocabulary, append))
    if found is None:
        return History(_facts(dataset, names), dataset.vocabulary)
    columns, values = found
    tensors = {name: torch.from_numpy(columns[name]) for name in COLUMNS}
    history = History.of_columns(dataset.vocabulary, (values["first_time"], values["last_time"]), tensors)
    history.stored_pairs = store.pairs
    return history


def index_switch() -> str:
    """Return the value of ``TITER_INDEX``: ``off``, ``always``, or nothing.

    Raises:
        ConfigError: If it has another value.
    """
    switch = os.environ.get(SWITCH, "").lower()
    if switch not in ("", "off", "always"):
        raise ConfigError(f"{SWITCH} must be off or always, not {switch!r}")
    return switch


def _facts(dataset: Dataset, names: list[str]) -> Facts:
    """Return the facts of some splits. Those of a single split are not copied."""
    return dataset.splits[names[0]] if len(names) == 1 else Facts.concatenate(*(dataset.splits[n] for n in names))


class _Store:
    """The stored columns of some splits of a dataset."""

    def __init__(self, dataset: Dataset, names: list[str], num_facts: int):
        assert dataset.folder is not None
        self.num_facts = num_facts
        is_whole = num_facts == sum(len(facts) for facts in dataset.splits.values())
        part = "" if is_whole else "+".join(names)
        # The name of the part is in the files too, so that those of one part are never used for another.
        self.source = dataset.checksum if is_whole else f"{dataset.checksum} {part}"
        self.folders = [dataset.folder / FOLDER / part, cache_folder() / FOLDER / dataset.checksum[:32] / part]
        if part and is_in_run(dataset.folder):
            # Forecasts of a run need the index of all its facts, and only another training those of parts.
            self.folders.reverse()

    def pairs(self, history: History) -> dict[str, Tensor] | None:
        """Return the columns of the pair index; None if they cannot be stored."""

        def make(append: Append) -> dict[str, Any]:
            append_columns(history, append, f"indexing {self.num_facts:,} facts")
            return {}

        found = self.columns("pairs", make)
        return None if found is None else {name: torch.from_numpy(column) for name, column in found[0].items()}

    def columns(self, part: str, make: Callable[[Append], dict[str, Any]]) -> Stored | None:
        """Open a part of the index; make it first where no folder has it."""
        for folder in self.folders:
            if (found := open_columns(folder / part, self.source)) is not None:
                return found
        for folder in self.folders:
            try:
                with locked(folder):
                    # Another process may have made it while this one waited for the lock.
                    if (found := open_columns(folder / part, self.source)) is not None:
                        return found
                    if shutil.disk_usage(folder).free < self.num_facts * MAX_BYTES_PER_FACT:
                        continue
                    print(f"indexing {self.num_facts:,} facts; the index is kept in {folder / part}", file=sys.stderr)
                    write_columns(folder / part, self.source, make)
                    return open_columns(folder / part, self.source)
            except OSError:
                continue
        print(f"the index of {self.num_facts:,} facts cannot be stored, and is built in memory", file=sys.stderr)
        return None
