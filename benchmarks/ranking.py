"""Measure the time and the memory of ranking when every entity has a score.

    python benchmarks/ranking.py

Scores are random, with ties; the filter is time-aware. The first row has the size of the ICEWS14 test split.
"""

import resource
import time

import numpy as np
import torch
from torch import Tensor

from titer import Dataset, Facts, History, Model, Queries, TimeAxis, Vocabulary, evaluate

SIZES = {"as ICEWS14": (7_128, 13_222), "25,000 entities": (25_000, 20_000)}


class RandomScores(Model):
    """A model that returns precomputed dense scores."""

    name = "random_scores"

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis):
        super().__init__(vocabulary, axis)
        self.fixed = torch.randint(0, 1000, (512, vocabulary.num_entities)).float()

    def score(self, queries: Queries, history: History) -> Tensor:
        """Return the same scores for every batch."""
        return self.fixed[: len(queries)]


def make_dataset(num_entities: int, num_test: int) -> Dataset:
    """Return a dataset of random facts."""
    generator = np.random.default_rng(0)

    def facts(count: int, first: int, last: int) -> Facts:
        subject, relation, object = (generator.integers(0, high, count) for high in (num_entities, 230, num_entities))
        return Facts(subject, relation, object, generator.integers(first, last, count)).sorted_by_time()

    vocabulary = Vocabulary.numbered(num_entities, 230)
    return Dataset(
        "random", vocabulary, TimeAxis(), facts(60_000, 0, 260), facts(1_000, 260, 300), facts(num_test, 300, 360)
    )


def main() -> None:
    """Rank the answers for each size and print a table."""
    print(f"{'size':<18} {'queries':>9} {'seconds':>9} {'queries/s':>11} {'peak GB':>9}")
    for name, (num_entities, num_test) in SIZES.items():
        dataset = make_dataset(num_entities, num_test)
        model = RandomScores(dataset.vocabulary, dataset.axis)
        started = time.perf_counter()
        found = evaluate(model, dataset, "test")
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
        count = len(found.queries)
        print(f"{name:<18} {count:>9,} {seconds:>9.2f} {count / seconds:>11,.0f} {peak:>9.2f}")


if __name__ == "__main__":
    main()
