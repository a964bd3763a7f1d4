"""The results of the models without parameters on the real benchmarks."""

from pathlib import Path

import pytest

from titer.data.load import load_dataset
from titer.evaluation.evaluate import evaluate
from titer.models.random_walk import RandomWalk
from titer.models.recurrency import Recurrency

pytestmark = pytest.mark.real_data


@pytest.mark.slow
@pytest.mark.timeout(1200)  # ICEWS18 has 2.3 billion scores for validation and for test
@pytest.mark.parametrize(("name", "min_mrr"), [("ICEWS14", 43.5), ("ICEWS18", 31.9), ("WIKI", 81.4), ("YAGO", 90.7)])
def test_recurrency_reaches_its_published_mrr(datasets_folder: Path, name: str, min_mrr: float):
    dataset = load_dataset(datasets_folder / name)
    model = Recurrency(dataset.vocabulary, dataset.axis)
    model.prepare(dataset.train, dataset.valid)
    assert 100 * evaluate(model, dataset, "test").metrics().mrr >= min_mrr


def test_a_random_walk_is_worse_than_recurrency(datasets_folder: Path):
    dataset = load_dataset(datasets_folder / "ICEWS14")
    found = evaluate(RandomWalk(dataset.vocabulary, dataset.axis), dataset, "test")
    assert len(found.queries) == 26_444
    assert 0.30 <= found.metrics().mrr <= 0.34
