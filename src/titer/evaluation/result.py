"""The result of an evaluation: metrics, breakdowns and calibration, all derived from the ranks."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.drawing.elements import el, table
from titer.drawing.notebook import notebook_html
from titer.errors import TiterError
from titer.evaluation.calibration import Confidence
from titer.evaluation.metrics import METRIC_HEADERS, Metrics, by_group, metric_cells
from titer.evaluation.novelty import NEVER, NOVELTY, last_occurrences
from titer.evaluation.protocol import CONVENTIONS, Protocol
from titer.evaluation.ranks import Ranks
from titer.graph.queries import Queries


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The ranks of a model's answers on one split, with the settings that produced them.

    Attributes:
        dataset: The dataset that was evaluated on.
        split: The name of the split.
        protocol: How the answers were ranked.
        queries: All queries: first the objects asked for, then the subjects.
        answers: The true answer of each query. Shape (queries,).
        ranks: What the ranks are computed from under any tie rule.
        confidence: The probability of each top answer, and whether it was right.
        temperature: The model's temperature, which the probabilities depend on.
        model: The name of the model.
        seconds: How long the evaluation took.
        sampled_from: The number of queries of the split, if only a sample of them was asked; None otherwise.
    """

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
    sampled_from: int | None = None

    def ranks_under(self, protocol: Protocol | None = None) -> Tensor:
        """Return the rank of every true answer.

        Args:
            protocol: A protocol with another tie rule or another rule for unreachable answers; the default is the
                protocol of this evaluation.

        Returns:
            Ranks from 1 as float64; a rank between two places can be half-integral. Shape (queries,).

        Raises:
            TiterError: If the protocol has another filter or history, which needs another evaluation.
        """
        protocol = protocol or self.protocol
        if not self._serves(protocol):
            raise TiterError("a protocol with another filter or history needs another evaluation")
        return self.ranks.under(protocol.ties, protocol.unreachable)

    def metrics(self, protocol: Protocol | None = None) -> Metrics:
        """Return the metrics over all queries.

        Args:
            protocol: As for ``ranks_under``.

        Returns:
            MRR, Hits@k and mean rank.

        Raises:
            TiterError: If the protocol has another filter or history.
        """
        return Metrics.of(self.ranks_under(protocol))

    def other_conventions(self) -> dict[str, Metrics]:
        """Return the metrics of the same answers under the other named conventions.

        Returns:
            Metrics by convention, for the conventions with the same filter and history.
        """
        return {
            name: self.metrics(other)
            for name, other in CONVENTIONS.items()
            if other != self.protocol and self._serves(other)
        }

    def by_direction(self) -> dict[str, Metrics]:
        """Return the metrics by what was asked for.

        Returns:
            Metrics of the queries for an ``object`` and of those for a ``subject``.
        """
        asks_subject = self.dataset.vocabulary.is_inverse(self.queries.relation)
        groups = by_group(self.ranks_under(), asks_subject.long())
        return {("object", "subject")[group]: metrics for group, metrics in groups.items()}

    def by_relation(self) -> dict[str, Metrics]:
        """Return the metrics by relation, both directions together.

        Returns:
            Metrics by the name of the relation.
        """
        names = self.dataset.vocabulary.relations
        groups = by_group(self.ranks_under(), self.dataset.vocabulary.undirected(self.queries.relation))
        return {names[group]: metrics for group, metrics in groups.items()}

    def by_time(self) -> dict[str, Metrics]:
        """Return the metrics by time step.

        Returns:
            Metrics by the date of the query.
        """
        groups = by_group(self.ranks_under(), self.queries.time)
        return {self.dataset.axis.label(group): metrics for group, metrics in groups.items()}

    def by_unseen(self) -> dict[str, Metrics]:
        """Return the metrics by whether training contains the entities of the fact.

        Returns:
            Metrics of the queries whose fact has an ``unseen`` entity, without a fact in training, and of all others
            (``seen``). A group without queries is left out.
        """
        unseen = torch.from_numpy(~self.dataset.train.mentions(self.dataset.vocabulary.num_entities))
        groups = by_group(self.ranks_under(), (unseen[self.queries.subject] | unseen[self.answers]).long())
        return {("seen", "unseen")[group]: metrics for group, metrics in groups.items()}

    @cached_property
    def _last_occurrences(self) -> Tensor:
        """When the fact of each query was last true before: a time step, or ``NEVER``. Shape (queries,)."""
        facts = Facts(*(column.numpy() for column in self.facts()))
        return torch.from_numpy(last_occurrences(facts, self.dataset.facts))

    def novelty_masks(self) -> dict[str, Tensor]:
        """Return which queries belong to each group of ``by_novelty``.

        Returns:
            A mask of shape (queries,) for each group.
        """
        repeated = self._last_occurrences == self.queries.time - 1
        return {"repeated": repeated, "new": ~repeated, "never_seen": self._last_occurrences == NEVER}

    def by_novelty(self) -> dict[str, Metrics]:
        """Return the metrics by whether the fact was true before.

        Returns:
            Metrics of the facts that were true at the step before (``repeated``), of all others (``new``), and of those
            that were never true before (``never_seen``), which are also new. A group without queries is left out.
        """
        ranks = self.ranks_under()
        return {name: Metrics.of(ranks[mask]) for name, mask in self.novelty_masks().items() if bool(mask.any())}

    def select(self, rows: Tensor) -> "Evaluation":
        """Return the evaluation of some of the queries.

        Args:
            rows: Positions of queries. Shape (rows,).
        """
        ranks = Ranks(
            self.ranks.better[rows], self.ranks.equal[rows], self.ranks.reached[rows], self.ranks.num_entities
        )
        confidence = Confidence(self.confidence.probability[rows], self.confidence.correct[rows])
        parts = {"queries": self.queries[rows], "answers": self.answers[rows], "ranks": ranks, "confidence": confidence}
        return replace(self, **parts, sampled_from=self.sampled_from or len(self.queries))

    def facts(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the fact of each query, as columns of ids.

        Returns:
            Subject, relation, object and time, each of shape (queries,).
        """
        vocabulary, queries = self.dataset.vocabulary, self.queries
        asks_subject = vocabulary.is_inverse(queries.relation)
        subject = torch.where(asks_subject, self.answers, queries.subject)
        object = torch.where(asks_subject, queries.subject, self.answers)
        return subject, vocabulary.undirected(queries.relation), object, queries.time

    def rows(self) -> list[tuple[str, Metrics]]:
        """Return the labelled rows that commands, reports and notebooks show.

        Returns:
            All queries, each direction, queries with and without unseen entities, new facts, and the other conventions.
        """
        rows = [("all", self.metrics())]
        rows += [(f"asking for the {name}", metrics) for name, metrics in self.by_direction().items()]
        labels = {"seen": "with seen entities only", "unseen": "with an unseen entity"}
        rows += [(labels[name], metrics) for name, metrics in self.by_unseen().items()]
        novel = self.by_novelty()
        names = ("new", "never_seen") if "repeated" in novel else ("never_seen",)  # else all facts are new
        rows += [(NOVELTY[name], novel[name]) for name in names if name in novel]
        rows += [(f"all, convention {name!r}", metrics) for name, metrics in self.other_conventions().items()]
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers and settings as plain types.

        Returns:
            A dictionary that can be written as JSON.
        """
        breakdowns = {
            "direction": self.by_direction(),
            "entities": self.by_unseen(),
            "novelty": self.by_novelty(),
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
            **({"sampled_from": self.sampled_from} if self.sampled_from is not None else {}),
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

    def _serves(self, protocol: Protocol) -> bool:
        """Return whether the ranks of another protocol follow from the same scores and the same filter."""
        return (protocol.filter, protocol.past) == (self.protocol.filter, self.protocol.past)

    def _title(self) -> str:
        return f"{self.model} on {self.dataset.name}, {self.split} split"

    def __repr__(self) -> str:
        lines = [
            f"Evaluation: {self._title()}",
            f"protocol: {self.protocol}",
            *(
                f"  {label}: " + ", ".join(f"{name} {value}" for name, value in zip(METRIC_HEADERS, cells, strict=True))
                for label, cells in ((label, metric_cells(metrics)) for label, metrics in self.rows())
            ),
            f"calibration: {self.confidence} at temperature {self.temperature:.3g}",
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the evaluation as a table for notebooks."""
        return notebook_html(
            el("h4", self._title()),
            el("p", f"Protocol: {self.protocol}."),
            table(["", *METRIC_HEADERS], [[label, *metric_cells(metrics)] for label, metrics in self.rows()]),
            el("p", f"Calibration: {self.confidence} at temperature {self.temperature:.3g}."),
        )
