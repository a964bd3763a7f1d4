"""Training into a run directory: what it reports, and how much it validates."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from strategies import random_facts
from titer.data.dataset import Dataset
from titer.data.split import split_by_fraction
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.evaluation.evaluate import evaluate_task
from titer.evaluation.result import Evaluation
from titer.evaluation.task import EvaluationTask
from titer.graph.queries import Queries
from titer.models.base import Model
from titer.runs import train as module
from titer.runs.train import train
from titer.training.config import Config
from training.tiny_model import TinyModel

QUICK = ["training.epochs=2", "training.device=cpu", "training.learning_rate=0.01"]


@pytest.fixture
def dataset() -> Dataset:
    facts = random_facts(3, 2000, 30, 4, 40)
    return Dataset("random", Vocabulary.numbered(30, 4), TimeAxis(), *split_by_fraction(facts, (0.5, 0.4, 0.1)))


def test_a_log_has_one_line_for_each_epoch(dataset: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture):
    train(dataset, Config.load(model=TinyModel.name, overrides=QUICK), tmp_path / "run")
    first, last = capsys.readouterr().err.splitlines()
    number = r"[\d.,]+"
    form = rf"epoch {{}} of 2, {number} queries/s, loss {number}, validation MRR {number}(, best .*)?, \d+ s left"
    assert re.fullmatch(form.format(1), first), first
    assert re.fullmatch(form.format(2), last), last


def test_a_short_training_validates_on_a_sample(dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MIN_VALIDATION_QUERIES", 100)
    config = Config.load(model=TinyModel.name, overrides=QUICK)
    run = train(dataset, config, tmp_path / "all")
    assert len(dataset.valid) > 0.5 * len(dataset.train)
    (found,) = run.evaluations
    assert (found["queries"], found["sampled_from"]) == (round(0.25 * 2 * len(dataset.train)), 2 * len(dataset.valid))
    assert run.log_rows[0]["valid"]["queries"] == found["queries"]
    recent = replace(config, training=replace(config.training, recent_steps=2))
    assert train(dataset, recent, tmp_path / "recent").evaluations[0]["queries"] == 100


def test_the_sample_of_a_validation_has_few_time_steps(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked: list[Queries] = []

    def spy(model: Model, task: EvaluationTask) -> Evaluation:
        asked.append(task.queries)
        return evaluate_task(model, task)

    monkeypatch.setattr(module, "MIN_VALIDATION_QUERIES", 20)
    monkeypatch.setattr(module, "MIN_VALIDATION_STEPS", 3)
    monkeypatch.setattr(module, "evaluate_task", spy)
    config = Config.load(model=TinyModel.name, overrides=[*QUICK, "training.recent_steps=1"])
    train(dataset, config, tmp_path / "run")
    assert 20 <= len(asked[0]) < 2 * len(dataset.valid)
    assert len(asked[0].time.unique()) == 3


def test_a_long_training_validates_on_the_whole_split(dataset: Dataset, tmp_path: Path):
    run = train(dataset, Config.load(model=TinyModel.name, overrides=QUICK), tmp_path / "run")
    assert run.evaluations[0]["queries"] == 2 * len(dataset.valid)
    assert "sampled_from" not in run.evaluations[0]
