"""Evaluation as in the Temporal Graph Benchmark: candidates from files, mean rank of ties, both directions."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from titer.data.dataset import Dataset
from titer.data.tgb.pickles import CandidateArrays, read_candidate_file
from titer.data.tgb.reader import tgb_sizes
from titer.data.tgb.time import steps_of
from titer.errors import DataError
from titer.evaluation.batching import default_batch_size
from titer.evaluation.metrics import Metrics
from titer.evaluation.ranks import Ranking
from titer.evaluation.task import EvaluationTask
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.graph.ragged import spread
from titer.models.base import Model, check_scores, evaluating
from titer.models.scores import ScoreBlock, Scores
from titer.parallel.parts import part_of_batches
from titer.parallel.processes import sum_over_processes
from titer.progress import track


class TgbCandidates:
    """The entities that a candidate file lists for each (time, subject, relation) of a split.

    Args:
        content: The content of the file.
        dataset: The dataset that it belongs to, as ``read_tgb`` returns it.

    Raises:
        DataError: If the file mentions entities or relations that the dataset does not have.
    """

    def __init__(self, content: CandidateArrays, dataset: Dataset):
        self._dataset, self._sizes = dataset, tgb_sizes(dataset)
        self.num_entities = self._sizes.entities
        times, subject, relation = content.keys.T
        num_relations = dataset.vocabulary.num_directed_relations
        limits = {"subject": (subject, self.num_entities), "relation": (relation, num_relations)}
        for part, (ids, limit) in {**limits, "entity": (content.values, self.num_entities)}.items():
            if ids.min() < 0 or ids.max() >= limit:
                raise DataError(f"the candidates are those of another dataset: there are only {limit:,} {part} ids")
        steps = steps_of(times, dataset.axis)
        self._first = int(steps.min())
        self._num_steps = int(steps.max()) - self._first + 1
        if self._num_steps * self.num_entities * num_relations >= 1 << 63:
            raise DataError("the times of the candidates are too far apart")
        key = ((steps - self._first) * self.num_entities + subject) * num_relations + relation
        order = np.argsort(key, kind="stable")
        self._key = torch.from_numpy(key[order])
        self._start = torch.from_numpy(content.start[order])
        self._length = torch.from_numpy(content.length[order])
        self._values = torch.from_numpy(content.values)

    @classmethod
    def load(cls, path: Path, dataset: Dataset) -> "TgbCandidates":
        """Read a candidate file.

        Args:
            path: A file ``NAME_val_ns.pkl`` or ``NAME_test_ns.pkl``. Nothing in it is executed.
            dataset: The dataset that it belongs to.

        Raises:
            DataError: If the file cannot be read, or belongs to another dataset.
        """
        try:
            return cls(read_candidate_file(path), dataset)
        except DataError as error:
            raise error if str(path) in str(error) else DataError(f"{path}: {error}") from None

    def entries(self, queries: Queries) -> Tensor:
        """Return the number of the entry of each query.

        Args:
            queries: Queries of the split.

        Returns:
            Positions for ``of``. Shape (queries,).

        Raises:
            DataError: If a query has no entry.
        """
        vocabulary = self._dataset.vocabulary
        undirected = vocabulary.undirected(queries.relation)
        # TGB numbers inverse relations after those in use.
        relation = torch.where(vocabulary.is_inverse(queries.relation), undirected + self._sizes.relations, undirected)
        elapsed = queries.time - self._first
        pair = elapsed * self.num_entities + queries.subject
        key = pair * vocabulary.num_directed_relations + relation
        found = (torch.searchsorted(self._key, key, right=True) - 1).clamp(min=0)
        lacking = (self._key[found] != key) | (elapsed < 0) | (elapsed >= self._num_steps)
        if bool(lacking.any()):
            row = int(lacking.nonzero()[0, 0])
            subject, when = vocabulary.entities[int(queries.subject[row])], int(queries.time[row])
            raise DataError(
                f"the candidates have no entry for {int(lacking.sum()):,} of {len(queries):,} queries, such as "
                f"{subject!r} at {self._dataset.axis.label(when)}; use the file of this split and dataset"
            )
        return found

    def of(self, entries: Tensor) -> tuple[Tensor, Tensor]:
        """Return the entities of some entries.

        Args:
            entries: Positions, as ``entries`` returns them. Shape (entries,).

        Returns:
            Pairs (row, entity), ordered by row; each of shape (pairs,).
        """
        start = self._start[entries]
        row, position = spread(start, start + self._length[entries])
        return row, self._values[position].long()

    def contain(self, entries: Tensor, answers: Tensor) -> Tensor:
        """Return whether each entry has an answer among its entities.

        Args:
            entries: Positions, as ``entries`` returns them. Shape (entries,).
            answers: Entity ids. Shape (entries,).

        Returns:
            A mask of shape (entries,).
        """
        found = torch.zeros(len(entries), dtype=torch.bool)
        for rows in torch.arange(len(entries)).split(1 << 16):
            row, entity = self.of(entries[rows])
            found[rows[row[entity == answers[rows][row]]]] = True
        return found


@dataclass(frozen=True, eq=False)
class TgbEvaluation:
    """The ranks of the true answers of one split among the candidates of TGB.

    Attributes:
        split: ``valid`` or ``test``.
        queries: Both queries of every fact.
        answers: Their true answers. Shape (queries,).
        ranks: The mean of the best and the worst rank among equal scores. Shape (queries,), float64.
        candidates: What was ranked: ``all`` entities, or the ``listed`` ones.
        seconds: How long the evaluation took.
    """

    split: str
    queries: Queries
    answers: Tensor
    ranks: Tensor
    candidates: str
    seconds: float

    @property
    def metrics(self) -> Metrics:
        """MRR, Hits@k and mean rank."""
        return Metrics.of(self.ranks)


@torch.inference_mode()
def evaluate_tgb(
    model: Model,
    dataset: Dataset,
    split: str,
    candidates: TgbCandidates,
    *,
    batch_size: int | None = None,
    max_queries: int | None = None,
    quiet: bool = False,
) -> TgbEvaluation:
    """Rank the true answers of a split as TGB does.

    If the file lists the true answers of each query, they are exclusion sets, and all other entities are candidates.
    Otherwise it lists the candidates themselves.

    Args:
        model: The model.
        dataset: The dataset, as ``read_tgb`` returns it.
        split: ``valid`` or ``test``.
        candidates: The candidate file of the split.
        batch_size: Queries to score together; by default what suits the model's device.
        max_queries: Ask a random sample of this many queries if the split has more.
        quiet: Draw no progress bar.

    Returns:
        The rank of every query.

    Raises:
        DataError: If the split is unknown or empty, or a query is not in the file.
        TiterError: If the model returns NaN scores.
    """
    started = time.perf_counter()
    task = EvaluationTask(dataset, split, device=model.device, max_queries=max_queries)
    entries = candidates.entries(task.queries)
    listed = candidates.contain(entries, task.answers)
    are_exclusions = bool(listed.all())
    ranks = torch.zeros(len(task.queries), dtype=torch.float64)
    batches = part_of_batches(list(task.queries.batches_in_time(batch_size or default_batch_size(model))))
    with evaluating(model):
        for rows, batch in batches if quiet else track(batches, f"evaluating on {split}"):
            row, entity = candidates.of(entries[rows])
            if are_exclusions:
                ranks[rows] = _among_all(model, batch, task.answers[rows], row, entity, task.history, candidates)
            else:
                ranks[rows] = _among_listed(model, batch, task.answers[rows], row, entity, listed[rows], task.history)
    sum_over_processes(ranks)
    kind = "all" if are_exclusions else "listed"
    return TgbEvaluation(split, task.queries, task.answers, ranks, kind, time.perf_counter() - started)


def _among_all(
    model: Model,
    queries: Queries,
    answers: Tensor,
    row: Tensor,
    entity: Tensor,
    history: History,
    candidates: TgbCandidates,
) -> Tensor:
    """Return the ranks among all entities without the pairs (row, entity). (queries,)"""
    scores = _CandidateScores(model, model.scores(queries.to(model.device), history), candidates.num_entities)
    # A ranking needs each pair once.
    pair = torch.unique(row * candidates.num_entities + entity).to(model.device)
    filtered = (pair // candidates.num_entities, pair % candidates.num_entities)
    ranking = Ranking(scores, answers.to(model.device), filtered)
    for block in scores.blocks():
        ranking.add(block)
    return ranking.ranks().under().cpu()


def _among_listed(
    model: Model,
    queries: Queries,
    answers: Tensor,
    row: Tensor,
    entity: Tensor,
    listed: Tensor,
    history: History,
) -> Tensor:
    """Return the ranks among the pairs (row, entity); ``listed`` says whether the answer is among them. (queries,)"""
    ranks = torch.zeros(len(queries), dtype=torch.float64)
    length = torch.bincount(row, minlength=len(queries))
    first = torch.cumsum(length, 0) - length
    # Queries of one batch have lists of one length, and few lists have the answer too.
    for group in torch.unique(length * 2 + listed).tolist():
        rows = (length * 2 + listed == group).nonzero()[:, 0]
        rivals = entity[first[rows][:, None] + torch.arange(group // 2)]
        answer = answers[rows][:, None]
        asked = rivals if group % 2 else torch.cat([rivals, answer], dim=1)
        scores = model.score_candidates(queries[rows].to(model.device), asked.to(model.device), history).cpu()
        check_scores(model, scores)
        true = scores[asked == answer][:, None]
        others = scores[:, : group // 2]
        ranks[rows] = 1 + (others > true).sum(dim=1).double() + (others == true).sum(dim=1).double() / 2
    return ranks


class _CandidateScores(Scores):
    """Scores in which entities from some id on do not count: they are NaN, neither better than others nor equal."""

    def __init__(self, model: Model, scores: Scores, limit: int):
        self.num_queries, self.num_entities = scores.num_queries, scores.num_entities
        self._model, self._scores, self._limit = model, scores, limit

    def blocks(self) -> Iterator[ScoreBlock]:
        """Yield the blocks of the scores."""
        for block in self._scores.blocks():
            check_scores(self._model, block.values)
            if self._limit < self.num_entities:
                position = torch.arange(block.start, block.end, device=block.values.device)
                is_outside = self._scores.entity(position) >= self._limit
                block = ScoreBlock(block.start, block.values.masked_fill(is_outside, torch.nan))
            yield block

    def position(self, entity: Tensor) -> Tensor:
        """Return the position of each entity."""
        return self._scores.position(entity)

    def entity(self, position: Tensor) -> Tensor:
        """Return the entity at each position."""
        return self._scores.entity(position)

    def at(self, row: Tensor, entity: Tensor) -> Tensor:
        """Return the scores of some pairs."""
        return self._scores.at(row, entity)
