"""The baseline beside every evaluation: what counting past facts reaches on the same queries."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.evaluation.bootstrap import PairedDifference, paired_difference
from titer.evaluation.evaluate import Evaluation, evaluate_task
from titer.evaluation.metrics import Metrics
from titer.evaluation.novelty import NOVELTY
from titer.evaluation.plain_words import in_plain_words, novelty_in_plain_words
from titer.evaluation.task import EvaluationTask
from titer.models.base import Model
from titer.models.registry import model_class
from titer.parallel.processes import from_first, rank
from titer.runs.rank_files import load_ranks, rank_file, save_ranks
from titer.runs.run import Run
from titer.version import __version__

BASELINE = "recurrency"
MAX_QUERIES = 20_000
"""Queries of larger splits are sampled, so that the baseline takes seconds."""
MAX_FITTING_FACTS = 5_000
"""Validation facts on which the baseline chooses its settings: the earliest, whose whole past is known."""


@dataclass(frozen=True)
class Baseline:
    """The baseline's results beside those of a model, on the same queries.

    Attributes:
        model: Metrics of the model.
        baseline: Metrics of the baseline.
        model_by_novelty: Metrics of the model by group of ``Evaluation.by_novelty``.
        baseline_by_novelty: The same of the baseline.
        difference: Reciprocal ranks of the model minus those of the baseline.
    """

    model: Metrics
    baseline: Metrics
    model_by_novelty: dict[str, Metrics]
    baseline_by_novelty: dict[str, Metrics]
    difference: PairedDifference

    @property
    def is_as_good(self) -> bool:
        """Whether the model is not clearly better than the baseline."""
        return self.difference.low <= 0

    @property
    def words(self) -> str:
        """The comparison in plain words."""
        words = in_plain_words(self.model.to_dict(), self.baseline.to_dict())
        if "repeated" in self.model_by_novelty and (new := self.model_by_novelty.get("new")) is not None:
            words += " " + novelty_in_plain_words(new.to_dict(), self.baseline_by_novelty["new"].to_dict())
        return words

    def rows(self, found: Evaluation) -> list[tuple[str, Metrics]]:
        """Return the labelled rows of an evaluation, with those of the baseline below the rows they belong to.

        Args:
            found: The evaluation of the model.
        """
        label = f"  {BASELINE} (baseline)"
        beside = {"all": self.baseline} | {NOVELTY[name]: one for name, one in self.baseline_by_novelty.items()}
        rows: list[tuple[str, Metrics]] = []
        for name, metrics in found.rows():
            rows.append((name, metrics))
            rows += [(label, beside[name])] if name in beside else []
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers for JSON."""
        return {
            "model": BASELINE,
            "metrics": self.baseline.to_dict(),
            "novelty": {name: metrics.to_dict() for name, metrics in self.baseline_by_novelty.items()},
            "difference": self.difference.to_dict(),
            "is_as_good": self.is_as_good,
            "words": self.words,
        }


def baseline_of(run: Run, found: Evaluation) -> Baseline | None:
    """Return what counting past facts reaches on the queries of an evaluation; computed once, then read from the run.

    Args:
        run: The run whose model was evaluated. It keeps the ranks of the baseline.
        found: An evaluation of its model.

    Returns:
        The baseline; None if the model of the run is the baseline, and in all processes but the first.
    """
    if run.config.model_name == BASELINE:
        return None
    rows = _sample(len(found.queries))
    asked = found if len(rows) == len(found.queries) else found.select(rows)
    about = {"split": found.split, "protocol": found.protocol.to_dict(), "of": [len(found.queries), found.sampled_from]}
    path = rank_file(run.path, model=BASELINE, titer=__version__, **about)
    ranks = load_ranks(path, len(rows)) if rank() == 0 else None
    if not from_first(lambda: ranks is not None):
        ranks = _evaluate(asked).ranks_under().numpy()
        if rank() == 0:
            # A run on a read-only disk is evaluated again next time.
            with suppress(OSError):
                save_ranks(path, ranks)
    if rank() > 0:
        return None
    assert ranks is not None
    return _compared(asked, torch.from_numpy(ranks.astype(np.float64)))


def fitted_baseline(dataset: Dataset) -> Model:
    """Return the baseline with its settings chosen on the first facts of the validation split."""
    model = model_class(BASELINE)(dataset.vocabulary, dataset.axis)
    model.prepare(dataset.train, _first(dataset.valid, MAX_FITTING_FACTS))
    return model.eval()


def _evaluate(asked: Evaluation) -> Evaluation:
    task = EvaluationTask(asked.dataset, asked.split, asked.protocol)
    task.queries, task.answers = asked.queries, asked.answers
    return evaluate_task(fitted_baseline(asked.dataset), task)


def _compared(asked: Evaluation, baseline: Tensor) -> Baseline:
    ours = asked.ranks_under()
    masks = {name: mask for name, mask in asked.novelty_masks().items() if bool(mask.any())}
    return Baseline(
        model=Metrics.of(ours),
        baseline=Metrics.of(baseline),
        model_by_novelty={name: Metrics.of(ours[mask]) for name, mask in masks.items()},
        baseline_by_novelty={name: Metrics.of(baseline[mask]) for name, mask in masks.items()},
        difference=paired_difference((1 / ours).numpy(), (1 / baseline).numpy()),
    )


def _sample(num_queries: int) -> Tensor:
    if num_queries <= MAX_QUERIES:
        return torch.arange(num_queries)
    return torch.from_numpy(np.sort(np.random.default_rng(1).permutation(num_queries)[:MAX_QUERIES]))


def _first(facts: Facts, limit: int) -> Facts:
    return facts.sorted_by_time()[:limit] if len(facts) > limit else facts
