"""Whether the evidence that a model shows is what its answers rest on.

The strongest evidence for the true answer of a question is taken out of the history, and the question asked again.
Beside it, as many other past facts of the question's subject, drawn at random, are taken out. Evidence is faithful if
the answer falls with it, and stays without the others.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.errors import NoEvidenceError
from titer.evaluation.evaluate import past_facts
from titer.evaluation.protocol import Past
from titer.evaluation.ranks import rank_answers
from titer.graph.filters import TrueAnswers
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model, evaluating
from titer.models.evidence import Edge
from titer.progress import track

MAX_EVIDENCE = 1000
"""Pieces of evidence that a model is asked for: more than anyone takes out."""


@dataclass(frozen=True)
class AnswerQuality:
    """How well the true answers stand, on average. Ranks are time-aware and realistic."""

    probability: float
    mrr: float
    mean_rank: float
    fallen: float
    """The share of answers with a worse rank than with the whole history."""


@dataclass(frozen=True)
class Faithfulness:
    """How the true answers stand with and without the facts that are said to speak for them."""

    model: str
    dataset: Dataset
    split: str
    sampled: int
    """Questions that were drawn."""
    compared: int
    """Those with evidence to take out, and at least as many other past facts of their subject."""
    facts_taken: float
    """Facts that were taken out of the history for one question, on average."""
    whole: AnswerQuality
    without_evidence: AnswerQuality
    without_random: AnswerQuality

    @property
    def standings(self) -> tuple[AnswerQuality, AnswerQuality, AnswerQuality]:
        """With all facts, without the evidence, without random facts."""
        return self.whole, self.without_evidence, self.without_random

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
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
    """One question, and what is taken out of its history."""

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
    questions: int = 500,
    facts: int | None = None,
    seed: int = 0,
) -> Faithfulness:
    """Take the evidence out of the history of a sample of questions of a split, and see what becomes of their answers.

    ``facts`` is how many facts of the strongest evidence are taken out; without it, those of the strongest path.
    """
    with evaluating(model):
        history = History(past_facts(dataset, split, Past.ROLLING), dataset.vocabulary).to(model.device)
        queries, answers = Queries.from_facts(dataset.split(split), dataset.vocabulary)
        sample = np.sort(np.random.default_rng(seed).permutation(len(queries))[:questions]).tolist()
        trials = []
        for row in track(sample, "looking for evidence"):
            query = queries[row : row + 1].to(model.device)
            made = make_trial(model, query, int(answers[row]), history, facts, np.random.default_rng([seed, row]))
            trials += [made] if made is not None else []
        if not trials:
            silent = f"{model.name} shows no evidence that could be taken out for any of {len(sample)} questions"
            raise NoEvidenceError(silent if model.explains() else f"{model.name} has no evidence to show")
        true_answers = TrueAnswers(dataset.facts, dataset.vocabulary).to(model.device)
        evidence, random = [trial.evidence for trial in trials], [trial.random for trial in trials]
        whole = ask_again(model, trials, [Facts.empty()] * len(trials), history, true_answers)
        return Faithfulness(
            model=model.name,
            dataset=dataset,
            split=split,
            sampled=len(sample),
            compared=len(trials),
            facts_taken=sum(len(trial.evidence) for trial in trials) / len(trials),
            whole=_average(whole, whole),
            without_evidence=_average(ask_again(model, trials, evidence, history, true_answers), whole),
            without_random=_average(ask_again(model, trials, random, history, true_answers), whole),
        )


def make_trial(
    model: Model, query: Queries, answer: int, history: History, facts: int | None, generator: np.random.Generator
) -> Trial | None:
    """What to take out for a question; nothing where there is no evidence, or too little else to compare it with."""
    evidence = strongest_facts(model, query, answer, history, facts)
    others = sorted(known_facts(query, history) - evidence.keys())
    if not evidence or len(others) < len(evidence):
        return None
    drawn = generator.choice(len(others), size=len(evidence), replace=False)
    return Trial(query, answer, Facts.from_rows(list(evidence)), Facts.from_rows([others[i] for i in drawn]))


def strongest_facts(
    model: Model, query: Queries, answer: int, history: History, limit: int | None = None
) -> dict[Edge, None]:
    """The facts of the strongest path to the answer or, with a limit, so many of the strongest paths; in order."""
    found: dict[Edge, None] = {}
    for item in model.explain(query, answer, history, MAX_EVIDENCE):
        for edge in item.path:
            if limit is None or len(found) < limit:
                found[edge.forward(history.vocabulary)] = None
        if found and (limit is None or len(found) == limit):
            break
    return found


def known_facts(query: Queries, history: History) -> set[Edge]:
    """Every fact of a question's subject before its time."""
    edges = history.all_before(query.subject, query.time)
    columns = (column.tolist() for column in (edges.relation, edges.object, edges.time))
    subject = int(query.subject)
    return {Edge(subject, r, o, t).forward(history.vocabulary) for r, o, t in zip(*columns, strict=True)}


def ask_again(
    model: Model, trials: list[Trial], taken: list[Facts], history: History, true_answers: TrueAnswers
) -> Tensor:
    """The probability and the rank of every trial's answer without the facts that are taken out. (trials, 2)"""
    standing = torch.empty(len(trials), 2, dtype=torch.float64)
    for row, (trial, facts) in enumerate(track(list(zip(trials, taken, strict=True)), "asking again")):
        scores = model.score(trial.query, history.without(facts))
        answer = torch.tensor([trial.answer], device=scores.device)
        standing[row, 0] = model.probabilities(scores)[0, trial.answer]
        standing[row, 1] = rank_answers(scores, answer, true_answers.of(trial.query)).under()[0]
    return standing


def _average(standing: Tensor, whole: Tensor) -> AnswerQuality:
    probability, rank = standing.unbind(1)
    fallen = (rank > whole[:, 1]).double()
    return AnswerQuality(float(probability.mean()), float((1 / rank).mean()), float(rank.mean()), float(fallen.mean()))
