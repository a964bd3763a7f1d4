"""Evaluation as in the Temporal Graph Benchmark: candidates from files, mean rank of ties, both directions."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from titer.data.dataset import Dataset
from titer.evaluation.batching import scoring_batches
from titer.evaluation.metrics import Metrics
from titer.evaluation.ranks import Ranking
from titer.evaluation.task import EvaluationTask
from titer.evaluation.tgb_candidates import TgbCandidates
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model, check_scores, evaluating
from titer.models.scores import ScoreBlock, Scores
from titer.parallel.parts import part_of_batches
from titer.parallel.processes import sum_over_processes
from titer.progress import track


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
    found = evaluate_tgb_task(model, task, candidates, batch_size=batch_size, quiet=quiet)
    return replace(found, seconds=time.perf_counter() - started)


@torch.inference_mode()
def evaluate_tgb_task(
    model: Model,
    task: EvaluationTask,
    candidates: TgbCandidates,
    *,
    batch_size: int | None = None,
    quiet: bool = False,
) -> TgbEvaluation:
    """Return the same as ``evaluate_tgb`` for a split that was prepared before; its seconds are those of ranking."""
    started = time.perf_counter()
    entries = candidates.entries(task.queries)
    are_exclusions = bool(candidates.contain(entries, task.answers).all())
    ranks = torch.zeros(len(task.queries), dtype=torch.float64)
    num_candidates = None if are_exclusions else candidates.longest(entries) + 1
    batches = part_of_batches(scoring_batches(model, task.queries, batch_size, num_candidates))
    with evaluating(model):
        for rows, batch in batches if quiet else track(batches, f"evaluating on {task.split}"):
            row, entity = candidates.of(entries[rows])
            if are_exclusions:
                ranks[rows] = _among_all(model, batch, task.answers[rows], row, entity, task.history, candidates)
            else:
                ranks[rows] = _among_listed(model, batch, task.answers[rows], row, entity, task.history)
    sum_over_processes(ranks)
    kind = "all" if are_exclusions else "listed"
    return TgbEvaluation(task.split, task.queries, task.answers, ranks, kind, time.perf_counter() - started)


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
    model: Model, queries: Queries, answers: Tensor, row: Tensor, entity: Tensor, history: History
) -> Tensor:
    """Return the ranks among the pairs (row, entity), of which the answer may be one too, as in TGB. (queries,)"""
    device = model.device
    queries, answers, entity = queries.to(device), answers.to(device), entity.to(device)
    ranks = torch.zeros(len(queries), dtype=torch.float64, device=device)
    length = torch.bincount(row, minlength=len(queries))
    first = (torch.cumsum(length, 0) - length).to(device)
    # Queries that are scored together have lists of one length.
    for size in torch.unique(length).tolist():
        rows = (length == size).nonzero()[:, 0].to(device)
        negatives = entity[first[rows][:, None] + torch.arange(size, device=device)]
        scores = model.score_candidates(queries[rows], torch.cat([negatives, answers[rows][:, None]], dim=1), history)
        check_scores(model, scores)
        others, true = scores[:, :-1], scores[:, -1:]
        ranks[rows] = 1 + (others > true).sum(dim=1).double() + (others == true).sum(dim=1).double() / 2
    return ranks.cpu()


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
