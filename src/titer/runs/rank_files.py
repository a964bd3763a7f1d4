"""Ranks of single queries that a run keeps, so that runs can be compared query by query."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from titer.files import atomic_path
from titer.training.layout import RANKS

Ranks32 = NDArray[np.float32]


def rank_file(run: Path, **about: Any) -> Path:
    """Return the file of the ranks of one evaluation.

    Args:
        run: The run directory.
        **about: What the ranks depend on: split, protocol, changed settings.
    """
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
    return run / f"{RANKS}-{digest[:12]}.npy"


def save_ranks(path: Path, ranks: Any) -> None:
    """Write ranks to a file, atomically."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.save(file, np.asarray(ranks, dtype=np.float32), allow_pickle=False)


def load_ranks(path: Path, num_queries: int) -> Ranks32 | None:
    """Return the ranks of a file; None if there is none, or it is damaged or of another number of queries."""
    try:
        ranks = np.load(path, allow_pickle=False)
    except (OSError, ValueError):
        return None
    return ranks if ranks.shape == (num_queries,) else None
