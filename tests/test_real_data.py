"""What the two first forecasters reach on the real benchmarks, and how fast."""

import time
from pathlib import Path

import pytest
import torch

from titer.data.load import load_dataset
from titer.evaluation.evaluate import evaluate
from titer.evaluation.ranks import rank_answers
from titer.graph.filters import TrueAnswers
from titer.graph.queries import Queries
from titer.models.random_walk import RandomWalk
from titer.models.recurrency import Recurrency

pytestmark = pytest.mark.real_data


@pytest.mark.slow
@pytest.mark.timeout(1200)  # ICEWS18 has 2.3 billion scores, twice
@pytest.mark.parametrize(("name", "least_mrr"), [("ICEWS14", 43.5), ("ICEWS18", 31.9), ("WIKI", 81.4), ("YAGO", 90.7)])
def test_recurrency_reaches_its_numbers(datasets_folder: Path, name: str, least_mrr: float):
    dataset = load_dataset(datasets_folder / name)
    started = time.perf_counter()
    model = Recurrency(dataset.vocabulary, dataset.axis)
    model.prepare(dataset.train, dataset.valid)
    assert 100 * evaluate(model, dataset, "test").metrics().mrr >= least_mrr
    assert time.perf_counter() - started < 600


def test_a_random_walk_reaches_less_than_counting(datasets_folder: Path):
    dataset = load_dataset(datasets_folder / "ICEWS14")
    found = evaluate(RandomWalk(dataset.vocabulary, dataset.axis), dataset, "test")
    assert 0.30 <= found.metrics().mrr <= 0.34


def test_ranking_dense_scores_of_icews14_takes_under_ten_seconds(datasets_folder: Path):
    dataset = load_dataset(datasets_folder / "ICEWS14")
    queries, answers = Queries.from_facts(dataset.test, dataset.vocabulary)
    assert len(queries) == 26_444
    scores = torch.rand(256, dataset.vocabulary.num_entities)
    started = time.perf_counter()
    true_answers = TrueAnswers(dataset.facts, dataset.vocabulary)
    for rows, batch in queries.batches(256):
        rank_answers(scores[: len(batch)], answers[rows], true_answers.of(batch))
    assert time.perf_counter() - started < 10
