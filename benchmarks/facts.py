"""Measure the time to add facts, and to answer the next query with them.

    python benchmarks/facts.py ICEWS14 [postgresql://USER@HOST/NAME]

Without an address, the fact store is an SQLite file in a temporary folder; a database must be empty. Models have random
weights, which take as long to compute with as trained ones.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from statistics import median

import torch

from titer import Queries, load_dataset
from titer.models.registry import model_class
from titer.store.facts import FactStore, NamedFact
from titer.store.live import LiveHistory

MANY = 100_000
MODELS = ("recurrency", "random_walk", "titer", "path_mixture")


def seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(store: FactStore) -> None:
    """Print a line for each measurement."""
    dataset, numbers = store.dataset, count()
    entities, relations = dataset.vocabulary.entities, dataset.vocabulary.relations

    def add_one() -> None:
        store.add([NamedFact(entities[0], relations[0], f"new entity {next(numbers)}", store.last_step + 1)])

    live = LiveHistory(store)
    live.current()
    print(f"one fact added: {1000 * median(seconds(add_one) for _ in range(50)):.1f} ms")
    live.current()
    print(f"no new fact: {1000 * median(seconds(live.current) for _ in range(200)):.2f} ms")
    for name in MODELS:
        model = model_class(name)(dataset.vocabulary, dataset.axis).eval()
        query = Queries.one(0, 0, store.last_step + 2)

        def ask(model=model, query=query) -> None:
            with torch.inference_mode():
                model.score(query, live.current())

        ask()
        first, again = [], []
        for _ in range(5):
            add_one()
            first.append(seconds(ask))
            again.append(seconds(ask))
        print(f"{name}: first query after a new fact {1000 * median(first):.0f} ms, next {1000 * median(again):.0f} ms")
    many = [
        NamedFact(
            entities[i % len(entities)],
            relations[i % len(relations)],
            f"later {i % 2000}",
            store.last_step + 2 + i,
        )
        for i in range(MANY)
    ]
    print(f"{MANY:,} facts added at once: {seconds(lambda: store.add(many)):.1f} s")
    print(f"the same facts added again: {seconds(lambda: store.add(many)):.1f} s")
    print(f"until the history contains them: {seconds(live.current):.1f} s")


if __name__ == "__main__":
    data = load_dataset(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        address = sys.argv[2] if len(sys.argv) > 2 else Path(folder) / "facts.db"
        with FactStore(address, data) as opened:
            measure(opened)
