"""The temperature at which a model is as sure as it is right (Guo et al., ICML 2017)."""

import numpy as np
import torch

from titer.data.dataset import Dataset
from titer.evaluation.calibration import judge, top_probability
from titer.evaluation.evaluate import BATCH_SIZES, past_facts
from titer.evaluation.protocol import Past
from titer.graph.filters import TrueAnswers
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model

TEMPERATURES = [10 ** (step / 20) for step in range(-40, 41)]
MOST_QUESTIONS = 2000


@torch.inference_mode()
def fit_temperature(model: Model, dataset: Dataset, *, seed: int = 0) -> float:
    """The temperature with the smallest Brier score of top answers, on a sample of the validation split.

    Only the top answer is looked at, since a model may give the true one no probability at whatever temperature.
    """
    if len(dataset.valid) == 0:
        return 1.0
    model.eval()
    history = History(past_facts(dataset, "valid", Past.ROLLING), dataset.vocabulary).to(model.device)
    true_answers = TrueAnswers(dataset.valid, dataset.vocabulary).to(model.device)
    queries, _ = Queries.about(dataset.valid, dataset.vocabulary)
    sample = np.sort(np.random.default_rng(seed).permutation(len(queries))[:MOST_QUESTIONS])
    errors = torch.zeros(len(TEMPERATURES), dtype=torch.float64)
    for _, batch in queries[torch.from_numpy(sample)].batches(BATCH_SIZES.get(model.device.type, 256)):
        batch = batch.to(model.device)
        logits = model.logits(model.score(batch, history))
        correct = judge(logits, true_answers.of(batch), 1.0).correct.double()
        for place, temperature in enumerate(TEMPERATURES):
            errors[place] += (top_probability(logits, temperature) - correct).square().sum().cpu()
    return TEMPERATURES[int(errors.argmin())]
