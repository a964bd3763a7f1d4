"""The temperature at which a model is as sure as it is right (Guo et al., ICML 2017)."""

import numpy as np
import torch

from titer.data.dataset import Dataset
from titer.evaluation.calibration import judge, set_aside, top_probability
from titer.evaluation.evaluate import BATCH_SIZES, past_facts
from titer.evaluation.protocol import Past
from titer.graph.filters import TrueAnswers
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model, evaluating

COARSE, FINE = 4, 60
"""Temperatures in a decade: those tried first, and those tried around the best of them."""
MAX_QUESTIONS = 2000


@torch.inference_mode()
def fit_temperature(model: Model, dataset: Dataset, *, seed: int = 0) -> float:
    """The temperature with the smallest Brier score of top answers, on a sample of the validation split.

    Only the top answer is looked at, since a model may give the true one no probability at whatever temperature.
    """
    if len(dataset.valid) == 0:
        return 1.0
    history = History(past_facts(dataset, "valid", Past.ROLLING), dataset.vocabulary).to(model.device)
    true_answers = TrueAnswers(dataset.valid, dataset.vocabulary).to(model.device)
    queries, answers = Queries.from_facts(dataset.valid, dataset.vocabulary)
    sample = torch.from_numpy(np.sort(np.random.default_rng(seed).permutation(len(queries))[:MAX_QUESTIONS]))
    queries, answers = queries[sample], answers[sample]

    def best(temperatures: list[float]) -> float:
        errors = torch.zeros(len(temperatures), dtype=torch.float64)
        for rows, batch in queries.batches_in_time(BATCH_SIZES.get(model.device.type, 256)):
            batch, answer = batch.to(model.device), answers[rows].to(model.device)
            logits = set_aside(model.logits(model.score(batch, history)), true_answers.others(batch, answer))
            correct = judge(logits, answer, 1.0).correct.double()
            for place, temperature in enumerate(temperatures):
                errors[place] += (top_probability(logits, temperature) - correct).square().sum().cpu()
        return temperatures[int(errors.argmin())]

    with evaluating(model):
        coarse = best([10 ** (step / COARSE) for step in range(-2 * COARSE, 2 * COARSE + 1)])
        return best([coarse * 10 ** (step / FINE) for step in range(-FINE // COARSE, FINE // COARSE + 1)])
