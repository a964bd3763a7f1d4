"""Statistics of a dataset."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from titer.data.dataset import Dataset
from titer.data.facts import Column


@dataclass(frozen=True)
class Unseen:
    """Counts of test facts with unseen entities: those without a fact in the training split."""

    entities: int
    object_facts: int
    subject_facts: int
    both_facts: int
    share: float
    """Share of the test facts with at least one unseen entity, between 0 and 1."""


@dataclass(frozen=True, eq=False)
class Summary:
    """Statistics of a dataset."""

    dataset: Dataset
    duplicates: dict[str, int]
    shared_steps: dict[str, int]
    """Numbers of time steps that two splits have in common; only some published benchmarks have any."""
    unseen: Unseen
    steps: Column
    facts_per_step: Column

    @classmethod
    def of(cls, dataset: Dataset) -> "Summary":
        """Compute the statistics of a dataset."""
        steps, counts = np.unique(dataset.facts.time, return_counts=True)
        times = {name: np.unique(facts.time) for name, facts in dataset.splits.items()}
        pairs = (("train", "valid"), ("valid", "test"), ("train", "test"))
        shared = {f"{a}+{b}": len(np.intersect1d(times[a], times[b])) for a, b in pairs}
        duplicates = {name: facts.num_duplicates for name, facts in dataset.splits.items()}
        return cls(dataset, duplicates, shared, _unseen(dataset), steps, counts)

    def busiest_entities(self, count: int) -> list[tuple[str, int]]:
        """Return the entities with the most facts, as subject or object, with the numbers of these facts."""
        facts = self.dataset.facts
        names = self.dataset.vocabulary.entities
        return _most_frequent(np.concatenate([facts.subject, facts.object]), names, count)

    def busiest_relations(self, count: int) -> list[tuple[str, int]]:
        """Return the relations with the most facts, with the numbers of these facts."""
        return _most_frequent(self.dataset.facts.relation, self.dataset.vocabulary.relations, count)

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as plain values, for JSON."""
        dataset = self.dataset
        return {
            "name": dataset.name,
            "checksum": dataset.checksum,
            **{name: len(facts) for name, facts in dataset.splits.items()},
            "entities": dataset.vocabulary.num_entities,
            "relations": dataset.vocabulary.num_relations,
            "timestamps": len(self.steps),
            "first": dataset.axis.label(int(self.steps[0])),
            "last": dataset.axis.label(int(self.steps[-1])),
            "time": dataset.axis.to_dict(),
            "duplicates": self.duplicates,
            "shared_steps": self.shared_steps,
            "unseen": vars(self.unseen),
        }


def unseen_share(dataset: Dataset, split: str) -> float:
    """Return the share of a split's facts with an entity that has no fact in the training split.

    Args:
        dataset: The dataset.
        split: ``valid`` or ``test``.
    """
    unseen = ~dataset.train.mentions(dataset.vocabulary.num_entities)
    facts = dataset.splits[split]
    return float((unseen[facts.subject] | unseen[facts.object]).mean()) if len(facts) else 0.0


def _unseen(dataset: Dataset) -> Unseen:
    unseen = ~dataset.train.mentions(dataset.vocabulary.num_entities)
    test = dataset.test
    subject, object = unseen[test.subject], unseen[test.object]
    entities = np.union1d(test.subject[subject], test.object[object])
    share = unseen_share(dataset, "test")
    return Unseen(len(entities), int(object.sum()), int(subject.sum()), int((subject & object).sum()), share)


def _most_frequent(ids: Column, names: list[str], count: int) -> list[tuple[str, int]]:
    counts = np.bincount(ids, minlength=len(names))
    order = np.argsort(-counts, kind="stable")[:count]
    return [(names[i], int(counts[i])) for i in order if counts[i]]
