"""How reliable forecasts are by horizon."""

from collections.abc import Callable
from pathlib import Path

import pytest

from commands import titer
from titer.evaluation.evaluate import evaluate, evaluate_task
from titer.evaluation.protocol import Past, Protocol
from titer.evaluation.result import Evaluation
from titer.evaluation.task import EvaluationTask
from titer.forecasting.forecaster import Forecaster
from titer.graph.queries import Queries
from titer.models.base import Model
from titer.runs.horizons import Horizon, horizons_of, measure_horizons, overconfidence
from titer.runs.refit import refit
from titer.runs.run import Run

FAR = (Horizon(1, 1, 400, 0.5, 0.51), Horizon(2, 3, 400, 0.4, 0.41), Horizon(4, 7, 400, 0.3, 0.5))


def test_horizons_are_those_of_an_evaluation_with_a_frozen_history(
    run_copy: Callable, recurrency_run: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("titer.runs.horizons.MAX_QUERIES", 10**6)
    run = Run(run_copy(recurrency_run))
    found = measure_horizons(run, "cpu")
    frozen = evaluate(run.load_model("cpu"), run.dataset, "valid", Protocol(past=Past.FROZEN_AT_TRAIN))
    ahead = frozen.queries.time - int(run.dataset.train.time.max())
    assert len(found) >= 2
    assert all(one.last == 2 * one.first - 1 for one in found)
    for one in found:
        rows = (ahead >= one.first) & (ahead <= one.last)
        assert one.queries == int(rows.sum())
        assert one.right == pytest.approx(float(frozen.confidence.correct[rows].double().mean()), abs=1e-4)
        assert one.probability == pytest.approx(float(frozen.confidence.probability[rows].double().mean()), abs=1e-4)
    assert horizons_of(Run(run.path).summary) == tuple(found)
    assert refit(run, run.path.parent / "refit").summary["horizons"] == run.summary["horizons"]


def test_each_horizon_has_a_sample_of_its_own_of_several_time_steps(
    run_copy: Callable, recurrency_run: Path, monkeypatch: pytest.MonkeyPatch
):
    asked: list[Queries] = []

    def spy(model: Model, task: EvaluationTask, *, quiet: bool) -> Evaluation:
        asked.append(task.queries)
        return evaluate_task(model, task, quiet=quiet)

    monkeypatch.setattr("titer.runs.horizons.evaluate_task", spy)
    monkeypatch.setattr("titer.runs.horizons.MAX_QUERIES", 60)
    monkeypatch.setattr("titer.runs.horizons.MIN_STEPS", 6)
    run = Run(run_copy(recurrency_run))
    found = measure_horizons(run, "cpu")
    last = int(run.dataset.train.time.max())
    ahead = Queries.from_facts(run.dataset.valid, run.dataset.vocabulary)[0].time - last
    assert [(one.first, one.queries) for one in found] == [(2, 60), (4, 60), (8, 60), (16, 60)]
    for one in found:
        steps = range(one.first, one.last + 1)
        known, sampled = (sum(step in times for step in steps) for times in (ahead, asked[0].time - last))
        assert min(known, 6) <= sampled


def test_a_validation_split_that_is_too_small_has_no_horizons(
    run_copy: Callable, recurrency_run: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("titer.runs.horizons.MIN_QUERIES", 10**6)
    run = Run(run_copy(recurrency_run))
    assert measure_horizons(run, "cpu") == []
    assert Run(run.path).summary["horizons"] == []


@pytest.mark.parametrize(("ahead", "expected"), [(1, None), (2, None), (3, None), (4, FAR[2]), (90, FAR[2])])
def test_only_clear_overconfidence_is_reported(ahead: int, expected: Horizon | None):
    assert overconfidence(FAR, ahead) == expected
    assert overconfidence((), ahead) is None


def test_few_questions_are_no_reason_for_a_caution():
    assert overconfidence((Horizon(4, 7, 50, 0.4, 0.5),), 5) is None


def test_a_forecast_far_ahead_says_how_often_such_forecasts_were_right(run_copy: Callable, recurrency_run: Path):
    run = Run(run_copy(recurrency_run))
    run.finish({**run.summary, "horizons": [one._asdict() for one in FAR]})
    with Forecaster.load(run, "cpu") as forecaster:
        far = forecaster.ask("Aldoria", "accuse", at="+5")
        assert far.caution == (
            "in validation, top answers 4 days ahead or more were right in 30 of 100 cases, "
            "with a mean probability of 50%"
        )
        assert forecaster.ask("Aldoria", "accuse", at="+3").caution == ""


def test_training_on_the_command_line_measures_horizons(tmp_path: Path):
    titer("train", "small-world", "--model", "recurrency", "--out", tmp_path / "run")
    assert len(horizons_of(Run(tmp_path / "run").summary)) >= 2
