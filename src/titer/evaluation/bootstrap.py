"""Paired bootstrap: how sure the difference between two models is that answered the same queries."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUM_SAMPLES = 1000
LEVEL = 0.95


@dataclass(frozen=True)
class PairedDifference:
    """The difference of two means over the same queries, with a 95 % interval.

    Attributes:
        difference: Mean of the first minus mean of the second.
        low: Lower end of the interval.
        high: Upper end of the interval.
    """

    difference: float
    low: float
    high: float

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name, for JSON."""
        return asdict(self)


def paired_difference(
    first: NDArray[np.floating[Any]], second: NDArray[np.floating[Any]], *, seed: int = 0
) -> PairedDifference:
    """Return the difference of two means, with a percentile interval over resampled queries.

    Args:
        first: A value for each query, such as its reciprocal rank. (queries,)
        second: The values of the other model for the same queries. (queries,)
        seed: Seed of the resampling.

    Returns:
        The difference and its 95 % interval.
    """
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    random = np.random.default_rng(seed)
    means = [difference[random.integers(len(difference), size=len(difference))].mean() for _ in range(NUM_SAMPLES)]
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return PairedDifference(float(difference.mean()), float(low), float(high))
