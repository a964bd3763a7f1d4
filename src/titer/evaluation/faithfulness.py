"""Faithfulness of evidence: whether the answers of a model depend on the evidence it shows.

The strongest evidence for the true answer of a query is removed from the history, and the query is scored again. For
comparison, as many other past facts of the query's subject, drawn at random, are removed. Evidence is faithful if
removing it lowers the rank of the answer, and removing the other facts does not.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.errors import NoEvidenceError
from titer.evaluation.ranks import rank_answers
from titer.evaluation.task import EvaluationTask
from titer.graph.filters import TrueAnswers
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model, evaluating
from titer.models.evidence import Edge
from titer.progress import track

MAX_EVIDENCE = 1000
"""How many pieces of evidence to request from a model: more than are ever removed."""


@dataclass(frozen=True)
class AnswerQuality:
    """Averages over the true answers. Ranks are time-aware, with realistic ties."""

    probability: float
    mrr: float
    mean_rank: float
    fallen: float
    """The share of answers with a worse rank than with the whole history."""


@dataclass(frozen=True)
class Faithfulness:
    """The quality of the true answers with and without the facts of their evidence."""

    model: str
    dataset: Dataset
    split: str
    sampled: int
    """How many queries were drawn."""
    compared: int
    """How many of them have evidence to remove, and at least as many other past facts of their subject."""
    facts_taken: float
    """How many facts were removed from the history of one query, on average."""
    whole: AnswerQuality
    without_evidence: AnswerQuality
    without_random: AnswerQuality

    @property
    def standings(self) -> tuple[AnswerQuality, AnswerQuality, AnswerQuality]:
        """The quality with all facts, without the evidence, and without random facts."""
        return self.whole, self.without_evidence, self.without_random

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain types, for JSON."""
        return {
            "model": self.model,
            "dataset": {"name": self.dataset.name, "checksum": self.dataset.checksum},
            "split": self.split,
            "sampled": self.sampled,
            "compared": self.compared,
            "facts_taken": self.facts_taken,
            "whole": asdict(self.whole),
            "without_evidence": asdict(self.without_evidence),
            "without_random": asdict(self.without_random),
        }


@dataclass(frozen=True)
class Trial:
    """One query, and the facts to remove from its history."""

    query: Queries
    answer: int
    evidence: Facts
    random: Facts


@torch.inference_mode()
def faithfulness(
    model: Model,
    dataset: Dataset,
    split: str = "test",
    *,
    max_queries: int = 500,
    facts: int | None = None,
    seed: int = 0,
) -> Faithfulness:
    """Measure how the true answers of a split change when their evidence is removed from the history.

    Args:
        model: The model to measure.
        dataset: The dataset that contains the split.
        split: ``train``, ``valid`` or ``test``.
        max_queries: How many queries to draw, if the split has as many.
        facts: How many facts of the strongest evidence to remove; by default those of the strongest path.
        seed: Seed of the sample and of the random facts.

    Returns:
        The quality of the answers with all facts, without the evidence, and without random facts.

    Raises:
        DataError: If the split is unknown or empty.
        NoEvidenceError: If the model shows no evidence that can be removed.
    """
    with evaluating(model):
        task = EvaluationTask(dataset, split, device=model.device)
        history, queries, answers, true_answers = task.history, task.queries, task.answers, task.true_answers
        sample = np.sort(np.random.default_rng(seed).permutation(len(queries))[:max_queries]).tolist()
        trials = []
        for row in track(sample, "finding evidence"):
            query = queries[row : row + 1].to(model.device)
            made = make_trial(model, query, int(answers[row]), history, facts, np.random.default_rng([seed, row]))
            trials += [made] if made is not None else []
        if not trials:
            silent = f"{model.name} shows no evidence that can be removed for any of {len(sample)} queries"
            raise NoEvidenceError(silent if model.explains() else f"{model.name} has no evidence to show")
        evidence, random = [trial.evidence for trial in trials], [trial.random for trial in trials]
        whole = score_without(model, trials, [Facts.empty()] * len(trials), history, true_answers)
        return Faithfulness(
            model=model.name,
            dataset=dataset,
            split=split,
            sampled=len(sample),
            compared=len(trials),
            facts_taken=sum(len(trial.evidence) for trial in trials) / len(trials),
            whole=_average(whole, whole),
            without_evidence=_average(score_without(model, trials, evidence, history, true_answers), whole),
            without_random=_average(score_without(model, trials, random, history, true_answers), whole),
        )


def make_trial(
    model: Model, query: Queries, answer: int, history: History, facts: int | None, generator: np.random.Generator
) -> Trial | None:
    """Choose the facts to remove for a query; None without evidence, or with too few other facts to compare it with."""
    evidence = strongest_facts(model, query, answer, history, facts)
    others = sorted(known_facts(query, history) - evidence.keys())
    if not evidence or len(others) < len(evidence):
        return None
    drawn = generator.choice(len(others), size=len(evidence), replace=False)
    return Trial(query, answer, Facts.from_rows(list(evidence)), Facts.from_rows([others[i] for i in drawn]))


def strongest_facts(
    model: Model, query: Queries, answer: int, history: History, limit: int | None = None
) -> dict[Edge, None]:
    """Return the facts of the strongest path or, with a limit, that many facts of the strongest paths, in order."""
    found: dict[Edge, None] = {}
    for item in model.explain(query, answer, history, MAX_EVIDENCE):
        for edge in item.path:
            if limit is None or len(found) < limit:
                found[edge.forward(history.vocabulary)] = None
        if found and (limit is None or len(found) == limit):
            break
    return found


def known_facts(query: Queries, history: History) -> set[Edge]:
    """Return all facts of a query's subject before its time."""
    edges = history.all_before(query.subject, query.time)
    columns = (column.tolist() for column in (edges.relation, edges.object, edges.time))
    subject = int(query.subject)
    return {Edge(subject, r, o, t).forward(history.vocabulary) for r, o, t in zip(*columns, strict=True)}


def score_without(
    model: Model, trials: list[Trial], removed: list[Facts], history: History, true_answers: TrueAnswers
) -> Tensor:
    """Return the probability and the rank of every trial's answer without the removed facts. (trials, 2)"""
    quality = torch.empty(len(trials), 2, dtype=torch.float64)
    for row, (trial, facts) in enumerate(track(list(zip(trials, removed, strict=True)), "scoring again")):
        scores = model.score(trial.query, history.without(facts))
        answer = torch.tensor([trial.answer], device=scores.device)
        quality[row, 0] = model.probabilities(scores)[0, trial.answer]
        quality[row, 1] = rank_answers(scores, answer, true_answers.of(trial.query)).under()[0]
    return quality


def _average(quality: Tensor, whole: Tensor) -> AnswerQuality:
    probability, rank = quality.unbind(1)
    fallen = (rank > whole[:, 1]).double()
    return AnswerQuality(float(probability.mean()), float((1 / rank).mean()), float(rank.mean()), float(fallen.mean()))
