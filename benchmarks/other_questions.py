"""Measure what it is worth to know the other questions of a day.

    python benchmarks/other_questions.py ICEWS14 --knows relations --seed 0

Single-step evaluation asks about all facts of a time step. Which questions it asks is itself knowledge of that step: an
entity that is asked about takes part in a fact. A forecaster does not have this knowledge, and no model of titer uses
it. This script adds it to the path mixture in four steps, trains as ``titer reproduce`` does, evaluates on the test
split once, and writes a result file to ``benchmarks/other_questions``.
"""

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor, nn

import titer
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.loss import MIN_LOG_PROBABILITY
from titer.models.path_mixture.mixture import Weights
from titer.models.path_mixture.model import PathMixture
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.path_mixture.training_plan import TrainingPlan
from titer.runs.reproduce import find_configuration, reproduce, write_result

RESULTS = Path(__file__).parent / "other_questions"
KNOWS = ("nothing", "entities", "relations", "both-directions")
RANK = 64


@dataclass(frozen=True)
class InformedConfig(PathMixtureConfig):
    """Settings of the path mixture, and what it knows about the other questions."""

    knows: str = "nothing"
    """One of ``KNOWS``.

    - entities: which entities the questions of the time step are about, in the same direction.
    - relations: and with which relations.
    - both-directions: the same for the questions of both directions.
    """


class Questions:
    """The questions about a set of facts, by time step: each once, with the number of facts that it is asked for."""

    def __init__(self, dataset: titer.Dataset):
        facts = titer.Facts.concatenate(*dataset.splits.values())
        queries, _ = titer.Queries.from_facts(facts, dataset.vocabulary)
        rows = torch.stack([queries.time, queries.subject, queries.relation])
        (time, self.entity, self.relation), number = rows.unique(dim=1, return_counts=True)  # sorted by time
        self.number = number.float()
        self.times, counts = time.unique_consecutive(return_counts=True)
        self.ends = counts.cumsum(0)

    def at(self, time: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return the entities, the directed relations and the numbers of the questions of a time step."""
        place = int(torch.searchsorted(self.times, time))
        found = place < len(self.times) and int(self.times[place]) == time
        first = int(self.ends[place - 1]) if place else 0
        rows = slice(first, int(self.ends[place]) if found else first)
        return self.entity[rows], self.relation[rows], self.number[rows]


@titer.register
class Informed(PathMixture):
    """The path mixture with one more factor for each answer: what the other questions show about it.

    The factor is a learned function of the query's relation and the questions about the answer: their number, and
    where these are known, their relations. It multiplies the prior and the paths alike.
    """

    name = "path_mixture_informed"
    Config = InformedConfig
    questions: ClassVar[Questions]

    def __init__(self, vocabulary: titer.Vocabulary, axis: titer.TimeAxis, config: InformedConfig | None = None):
        super().__init__(vocabulary, axis, config)
        assert isinstance(self.config, InformedConfig)
        self.knows = self.config.knows
        relations = vocabulary.num_directed_relations
        self.of_query = nn.Embedding(relations, RANK)
        self.of_question = nn.Embedding(relations, RANK)
        self.of_number = nn.Embedding(relations, 2)
        for table in (self.of_query, self.of_number):
            nn.init.zeros_(table.weight)

    def plans(
        self, queries: titer.Queries, answers: Tensor, sizes: Sequence[int], history: titer.History
    ) -> list[TrainingPlan] | None:
        """Return none, unless nothing is known: ``planned_step`` does not see the other questions."""
        return super().plans(queries, answers, sizes, history) if self.knows == "nothing" else None

    def training_step(self, queries: titer.Queries, answers: Tensor, history: titer.History) -> titer.StepResult:
        """Return the mean cross-entropy of the answers, as that of the path mixture."""
        if self.knows == "nothing":
            return super().training_step(queries, answers, history)
        loss = answers.new_zeros((), dtype=torch.float32)
        for rows, batch in self._by_time(queries, history):
            for member in self._weights(batch):
                loss = loss + self._cross_entropy(self._informed(batch, member), queries[rows], answers[rows]).sum()
        return titer.StepResult(loss / len(queries))

    def _cross_entropy(self, log_weight: Tensor, queries: titer.Queries, answers: Tensor) -> Tensor:
        """Return the cross-entropy with smoothed labels, with other true answers excluded. (queries,)"""
        excluded = log_weight.new_tensor(-torch.inf)
        log_probability = log_weight.index_put(self._others(queries, answers), excluded).log_softmax(dim=1)
        of_answer = log_probability.gather(1, answers[:, None])[:, 0]
        of_all = log_probability.clamp(min=MIN_LOG_PROBABILITY).mean(dim=1)
        return -(1 - self.config.label_smoothing) * of_answer - self.config.label_smoothing * of_all

    def score(self, queries: titer.Queries, history: titer.History) -> Tensor:
        """Return log P of every entity. (queries, num_entities)"""
        if self.knows == "nothing":
            return super().scores(queries, history).dense()
        scores = torch.empty(len(queries), history.vocabulary.num_entities, device=queries.subject.device)
        for rows, batch in self._by_time(queries, history):
            each = [self._informed(batch, member).log_softmax(dim=1) for member in self._weights(batch)]
            scores[rows] = torch.stack(each).logsumexp(dim=0)
        return scores

    def scores(self, queries: titer.Queries, history: titer.History) -> titer.Scores:
        """Return the scores of every entity in one tensor: entities without a past differ by the questions too."""
        return titer.DenseScores(self.score(queries, history))

    def _informed(self, batch: QueryBatch, member: Weights) -> Tensor:
        """Return the logarithm of the weight of every entity. (queries, entities)"""
        assert member.matrix is not None  # main checks that the prior of all entities is exact
        combined = torch.logaddexp(member.prior, member.along)
        weights = member.matrix.reshape(-1).index_copy(0, member.at, combined).view_as(member.matrix)
        every = torch.arange(batch.num_entities, device=batch.subject.device)
        return weights.index_select(1, member.entities.row(batch, every)) + self._gain(batch)

    def _gain(self, batch: QueryBatch) -> Tensor:
        """Return the logarithm of the factor. (queries, entities)"""
        entity, relation, number = (column.to(batch.subject.device) for column in self.questions.at(batch.time))
        if self.knows == "both-directions":
            return self._gain_from(batch, entity, relation, number)
        backward = relation >= self.vocabulary.num_relations
        forward_gain, backward_gain = (
            self._gain_from(batch, entity[mask], relation[mask], number[mask]) for mask in (~backward, backward)
        )
        return torch.where((batch.relation >= self.vocabulary.num_relations)[:, None], backward_gain, forward_gain)

    def _gain_from(self, batch: QueryBatch, entity: Tensor, relation: Tensor, number: Tensor) -> Tensor:
        """Return the logarithm of the factor from given questions. (queries, entities)"""
        total = torch.zeros(batch.num_entities, device=entity.device).index_add(0, entity, number)
        gain = self.of_number(batch.relation) @ torch.stack([(total > 0).float(), total.log1p()])
        if self.knows == "entities":
            return gain
        about = torch.zeros(batch.num_entities, RANK, device=entity.device)
        about = about.index_add(0, entity, self.of_question(relation))
        return gain + self.of_query(batch.relation) @ about.T / RANK**0.5


def main() -> None:
    """Train and evaluate one model, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", help="one with a configuration of path_mixture, such as ICEWS14")
    parser.add_argument("--knows", choices=KNOWS, required=True, help="what the model knows beside its own question")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", help="dataset folder, if titer did not download it")
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="change one setting")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder for the run directory")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the result file")
    given = parser.parse_args()
    name = given.dataset.lower()
    changes = ["model.name=path_mixture_informed", f"model.knows={given.knows}", f"training.seed={given.seed}"]
    config = titer.Config.load(find_configuration(f"path_mixture/{name}"), overrides=[*changes, *given.set])
    dataset = titer.load_dataset(given.data or given.dataset)
    if dataset.vocabulary.num_entities > config.model.exact_entities:
        parser.error(
            f"{dataset.name} has {dataset.vocabulary.num_entities:,} entities, more than model.exact_entities; "
            f"add --set model.exact_entities={dataset.vocabulary.num_entities}"
        )
    Informed.questions = Questions(dataset)
    words = [
        "python",
        "benchmarks/other_questions.py",
        given.dataset,
        "--knows",
        given.knows,
        "--seed",
        str(given.seed),
    ]
    words += [word for change in given.set for word in ("--set", change)]
    label = f"{name}/{given.knows}"
    out = given.runs / f"{label.replace('/', '-')}-seed{given.seed}"
    _, found, row = reproduce(dataset, config, out, label=label, command=shlex.join(words), overwrite=True)
    file = write_result(row, given.results)
    print(f"{label} seed {given.seed}: test MRR {100 * found.metrics().mrr:.2f}; {file}")


if __name__ == "__main__":
    main()
