"""Measure any forecaster on any split."""

import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.errors import TiterError
from titer.evaluation.calibration import Confidence, judge, set_aside
from titer.evaluation.metrics import Metrics, by_group
from titer.evaluation.protocol import CONVENTIONS, Past, Protocol
from titer.evaluation.ranks import Ranks, rank_answers
from titer.graph.filters import Filter, TrueAnswers
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model, evaluating
from titer.progress import track

BATCH_SIZES = {"cpu": 128, "cuda": 1024}
"""Questions scored together unless asked otherwise: what fits into a processor's cache, what fills a GPU."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The ranks of a model's forecasts on one split, and everything that was needed to make them."""

    dataset: Dataset
    split: str
    protocol: Protocol
    queries: Queries
    answers: Tensor
    ranks: Ranks
    confidence: Confidence
    temperature: float
    model: str
    seconds: float

    def ranks_under(self, protocol: Protocol | None = None) -> Tensor:
        """Final ranks; another protocol may differ in its rules for ties and unreachable answers. (queries,)"""
        protocol = protocol or self.protocol
        if (protocol.filter, protocol.past) != (self.protocol.filter, self.protocol.past):
            raise TiterError("another filter or history needs another evaluation")
        return self.ranks.under(protocol.ties, protocol.unreachable)

    def metrics(self, protocol: Protocol | None = None) -> Metrics:
        """Averages over all questions."""
        return Metrics.of(self.ranks_under(protocol))

    def other_conventions(self) -> dict[str, Metrics]:
        """The same forecasts under the other named conventions, as far as the same ranks serve them."""
        return {
            name: self.metrics(other)
            for name, other in CONVENTIONS.items()
            if other != self.protocol and (other.filter, other.past) == (self.protocol.filter, self.protocol.past)
        }

    def by_direction(self) -> dict[str, Metrics]:
        """Objects asked for, and subjects asked for."""
        asks_subject = self.dataset.vocabulary.is_inverse(self.queries.relation)
        groups = by_group(self.ranks_under(), asks_subject.long())
        return {("object", "subject")[group]: metrics for group, metrics in groups.items()}

    def by_relation(self) -> dict[str, Metrics]:
        """By the name of the relation, both directions together."""
        names = self.dataset.vocabulary.relations
        groups = by_group(self.ranks_under(), self.dataset.vocabulary.undirected(self.queries.relation))
        return {names[group]: metrics for group, metrics in groups.items()}

    def by_time(self) -> dict[str, Metrics]:
        """By the date of the question."""
        groups = by_group(self.ranks_under(), self.queries.time)
        return {self.dataset.axis.label(group): metrics for group, metrics in groups.items()}

    def by_unseen(self) -> dict[str, Metrics]:
        """Questions whose fact has an entity that never appears in training, and all others."""
        unseen = torch.from_numpy(~self.dataset.train.mentions(self.dataset.vocabulary.num_entities))
        groups = by_group(self.ranks_under(), (unseen[self.queries.subject] | unseen[self.answers]).long())
        return {("seen", "unseen")[group]: metrics for group, metrics in groups.items()}

    def to_dict(self) -> dict[str, Any]:
        """Every number with every setting behind it, for JSON."""
        breakdowns = {
            "direction": self.by_direction(),
            "entities": self.by_unseen(),
            "relation": self.by_relation(),
            "time": self.by_time(),
        }
        return {
            "model": self.model,
            "dataset": {
                "name": self.dataset.name,
                "checksum": self.dataset.checksum,
                "entities": self.dataset.vocabulary.num_entities,
                **{name: len(facts) for name, facts in self.dataset.splits.items()},
            },
            "split": self.split,
            "queries": len(self.queries),
            "protocol": {"convention": self.protocol.name, **self.protocol.to_dict()},
            "metrics": self.metrics().to_dict(),
            "other_conventions": {name: metrics.to_dict() for name, metrics in self.other_conventions().items()},
            "calibration": {"temperature": self.temperature, **self.confidence.to_dict()},
            "unreached": int((~self.ranks.reached).sum()),
            "breakdown": {
                kind: {group: metrics.to_dict() for group, metrics in groups.items()}
                for kind, groups in breakdowns.items()
            },
            "seconds": round(self.seconds, 3),
        }


@torch.inference_mode()
def evaluate(
    model: Model,
    dataset: Dataset,
    split: str = "test",
    protocol: Protocol | None = None,
    *,
    batch_size: int | None = None,
    quiet: bool = False,
) -> Evaluation:
    """Ask the model both questions of every fact of a split, and rank the true answers."""
    protocol = protocol or Protocol()
    started = time.perf_counter()
    history = History(past_facts(dataset, split, protocol.past), dataset.vocabulary).to(model.device)
    true_answers = TrueAnswers(dataset.facts, dataset.vocabulary, protocol.filter).to(model.device)
    # How sure a model is of an answer does not depend on what is filtered out of a ranking.
    true_at_the_time = (
        true_answers
        if protocol.filter is Filter.TIME_AWARE
        else TrueAnswers(dataset.facts, dataset.vocabulary).to(model.device)
    )
    queries, answers = Queries.from_facts(dataset.split(split), dataset.vocabulary)
    # Made beforehand: small results kept between large scores would leave holes in memory that nothing fits into.
    ranks = Ranks.empty(len(queries), dataset.vocabulary.num_entities)
    confidence = Confidence.empty(len(queries))
    batches = list(queries.batches_in_time(batch_size or BATCH_SIZES.get(model.device.type, 256)))
    with evaluating(model):
        for rows, batch in batches if quiet else track(batches, f"evaluating on {split}"):
            batch, answer = batch.to(model.device), answers[rows].to(model.device)
            scores = model.score(batch, history)
            # The largest of a row is NaN if any is, and found faster than looking at each.
            if bool(torch.isnan(scores.amax(dim=1)).any()):
                raise TiterError(f"{model.name} scored some answers as NaN; nothing can be ranked by that")
            ranks.put(rows, rank_answers(scores, answer, true_answers.of(batch)))
            logits = set_aside(model.logits(scores), true_at_the_time.others(batch, answer))
            confidence.put(rows, judge(logits, answer, model.temperature))
    return Evaluation(
        dataset=dataset,
        split=split,
        protocol=protocol,
        queries=queries,
        answers=answers,
        ranks=ranks,
        confidence=confidence,
        temperature=model.temperature,
        model=model.name,
        seconds=time.perf_counter() - started,
    )


def past_facts(dataset: Dataset, split: str, past: Past) -> Facts:
    """The facts that may lie behind a question of a split; each question still looks only before its own time."""
    until = {Past.FROZEN_AT_TRAIN: "train", Past.FROZEN_AT_VALID: "valid", Past.ROLLING: split}[past]
    names = list(dataset.splits)
    if past is not Past.ROLLING and names.index(until) >= names.index(split):
        raise TiterError(f"a history that is {past} goes past the {split} split: nothing would be frozen")
    return Facts.concatenate(*(dataset.splits[name] for name in names[: names.index(until) + 1]))
