"""The temperature that calibrates the probabilities of a model (Guo et al., ICML 2017)."""

import numpy as np
import torch

from titer.data.dataset import Dataset
from titer.evaluation.batching import scoring_batches
from titer.evaluation.calibration import TopAnswers
from titer.evaluation.task import EvaluationTask
from titer.graph.filters import TrueAnswers
from titer.models.base import Model, evaluating
from titer.models.scores import ScoreBlock

COARSE, FINE = 4, 60
"""Temperatures per decade: those tried first, and those tried around the best of them."""
MAX_QUERIES = 2000


@torch.inference_mode()
def fit_temperature(
    model: Model, dataset: Dataset, *, seed: int = 0, validation: EvaluationTask | None = None
) -> float:
    """Return the temperature with the smallest Brier score of top answers on a sample of the validation split.

    Only the top answer counts, since a model may give the true one no probability at any temperature.

    Args:
        model: The trained model.
        dataset: Supplies the validation split; the test split has no influence.
        seed: Seed of the sample.
        validation: The validation split prepared for evaluation, if the caller has it already.

    Returns:
        The temperature; 1 without a validation split.
    """
    if len(dataset.valid) == 0:
        return 1.0
    task = validation or EvaluationTask(dataset, "valid", device=model.device)
    # The validation facts alone: those of the test split must not influence training.
    true_answers = TrueAnswers(dataset.valid, dataset.vocabulary).to(model.device)
    sample = torch.from_numpy(np.sort(np.random.default_rng(seed).permutation(len(task.queries))[:MAX_QUERIES]))
    queries, answers = task.queries[sample], task.answers[sample]

    def best(temperatures: list[float]) -> float:
        errors = torch.zeros(len(temperatures), dtype=torch.float64)
        for rows, batch in scoring_batches(model, queries):
            batch, answer = batch.to(model.device), answers[rows].to(model.device)
            scores = model.scores(batch, task.history)
            top = TopAnswers(scores, true_answers.others(batch, answer))
            for block in scores.blocks():
                top.add(ScoreBlock(block.start, model.logits(block.values)), *temperatures)
            correct = top.confidence(answer).correct.double()
            errors += (top.probabilities() - correct).square().sum(dim=1).cpu()
        return temperatures[int(errors.argmin())]

    with evaluating(model):
        coarse = best([10 ** (step / COARSE) for step in range(-2 * COARSE, 2 * COARSE + 1)])
        return best([coarse * 10 ** (step / FINE) for step in range(-FINE // COARSE, FINE // COARSE + 1)])
