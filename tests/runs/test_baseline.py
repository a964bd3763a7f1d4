"""The baseline beside an evaluation."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from titer.data.dataset import Dataset
from titer.evaluation.evaluate import Evaluation, evaluate
from titer.evaluation.metrics import Metrics
from titer.evaluation.plain_words import in_plain_words
from titer.evaluation.protocol import CONVENTIONS
from titer.models.recurrency import Recurrency
from titer.runs import baseline as module
from titer.runs.baseline import baseline_of
from titer.runs.run import Run
from titer.runs.train import train
from titer.training.config import Config


@pytest.fixture(scope="module")
def trained(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a model that has a baseline, and is trained at once."""
    config = Config.from_dict({"model": {"num_walks": 20}}, "random_walk")
    return train(world_data, config, tmp_path_factory.mktemp("runs") / "run").path


@pytest.fixture
def run(run_copy: Callable[[Path], Path], trained: Path) -> Run:
    return Run(run_copy(trained))


@pytest.fixture(scope="module")
def found(trained: Path) -> Evaluation:
    run = Run(trained)
    return evaluate(run.load_model("cpu"), run.dataset)


def test_it_is_what_a_trained_recurrency_reaches(run: Run, found: Evaluation, world_data: Dataset):
    model = Recurrency(world_data.vocabulary, world_data.axis)
    model.prepare(world_data.train, world_data.valid)
    counted = baseline_of(run, found)
    assert counted is not None
    expected = evaluate(model, world_data)
    assert counted.baseline.mrr == pytest.approx(expected.metrics().mrr)
    assert counted.baseline_by_novelty["never_seen"].mrr == pytest.approx(expected.by_novelty()["never_seen"].mrr)
    assert counted.model == found.metrics()
    assert counted.difference.difference == pytest.approx(counted.model.mrr - counted.baseline.mrr)


def test_it_is_computed_once_for_each_protocol(run: Run, found: Evaluation, monkeypatch: pytest.MonkeyPatch):
    first = baseline_of(run, found)
    fit, calls = module.fitted_baseline, []
    monkeypatch.setattr(module, "fitted_baseline", lambda dataset: calls.append(1) or fit(dataset))
    assert baseline_of(run, found) == first
    assert calls == []
    paper = evaluate(run.load_model("cpu"), run.dataset, protocol=CONVENTIONS["paper"])
    assert baseline_of(run, paper) is not None
    assert calls == [1]


def test_a_damaged_file_of_ranks_is_computed_again(run: Run, found: Evaluation):
    first = baseline_of(run, found)
    for path in run.path.glob("ranks-*"):
        path.write_bytes(b"\x93NUMPY")
    assert baseline_of(run, found) == first


def test_a_large_split_is_sampled_and_both_models_answer_the_same_queries(
    run: Run, found: Evaluation, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "MAX_QUERIES", 100)
    counted = baseline_of(run, found)
    assert counted is not None
    assert counted.baseline.queries == counted.model.queries == 100
    rows = module._sample(len(found.queries))
    assert counted.model == Metrics.of(found.ranks_under()[rows])
    assert torch.equal(rows, torch.unique(rows))


def test_the_settings_are_chosen_on_the_earliest_validation_facts(world_data: Dataset, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_FITTING_FACTS", 50)
    given: list[int] = []
    monkeypatch.setattr(Recurrency, "prepare", lambda self, train, valid: given.extend(valid.time.tolist()))
    module.fitted_baseline(world_data)
    assert given == sorted(world_data.valid.time.tolist())[:50]


def test_the_baseline_has_no_baseline(recurrency_run: Path, found: Evaluation):
    assert baseline_of(Run(recurrency_run), found) is None


def test_a_record_has_the_baseline_and_plain_words(run: Run, found: Evaluation):
    counted = baseline_of(run, found)
    assert counted is not None
    run.record(found, baseline=counted.to_dict())
    stored = json.loads((run.path / "metrics.json").read_text())["evaluations"][-1]
    assert stored["baseline"]["metrics"]["queries"] == len(found.queries)
    assert stored["baseline"]["words"].startswith("The true answer is ranked first in ")
    assert (run.ranks_path(stored)).is_file()


def metrics(first: float, tenth: float, mrr: float) -> dict[str, float]:
    return {"hits_at_1": first, "hits_at_10": tenth, "mrr": mrr}


def test_plain_words_name_both_models():
    words = in_plain_words(metrics(0.72, 0.9, 0.8), metrics(0.71, 0.88, 0.79))
    assert words == (
        "The true answer is ranked first in 72 of 100 questions, and among the first ten in 90; "
        "counting past facts alone reaches 71 and 88."
    )
    assert in_plain_words(metrics(0.7, 0.9, 0.78), metrics(0.71, 0.88, 0.79)).endswith(
        "The model is no better than counting past facts."
    )
    assert in_plain_words(metrics(0.012, 0.034, 0.02)) == (
        "The true answer is ranked first in 1.2 of 100 questions, and among the first ten in 3.4."
    )
