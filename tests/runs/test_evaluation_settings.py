"""Settings that are switched at evaluation: which ones, and what becomes of the results."""

import json
import shutil
from pathlib import Path

import pytest

from commands import titer
from conftest import SMALL_CONFIGS
from titer.errors import ConfigError
from titer.runs.evaluation_settings import with_evaluation_settings
from titer.runs.run import Run


@pytest.fixture
def run(titer_run: Path, tmp_path: Path) -> Run:
    return Run(shutil.copytree(titer_run, tmp_path / "run"))


def test_a_changed_setting_is_that_of_the_configuration():
    config = with_evaluation_settings(SMALL_CONFIGS["titer"], ["model.inductive_mean=false", "model.mu=0.5"])
    assert (config.model.inductive_mean, config.model.mu) == (False, 0.5)
    assert config.training == SMALL_CONFIGS["titer"].training
    assert with_evaluation_settings(SMALL_CONFIGS["titer"], []) == SMALL_CONFIGS["titer"]


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        ("titer", "model.entity_dim=16", r"model\.entity_dim affects the training or the weights of titer; only model"),
        ("titer", "model.entropy_weight=0.5", "affects the training"),
        ("titer", "training.epochs=3", r"training\.epochs affects the training"),
        ("titer", "model.beem_size=3", r"unknown setting 'model\.beem_size'; did you mean"),
        ("titer", "model.mu=7", "mu"),
        ("titer", "mu=0.5", "TABLE.KEY=VALUE"),
        ("path_mixture", "model.dim=16", "no setting of this model can be changed afterwards"),
    ],
)
def test_other_settings_are_refused(model: str, change: str, message: str):
    with pytest.raises(ConfigError, match=message):
        with_evaluation_settings(SMALL_CONFIGS[model], [change])


@pytest.mark.slow
def test_settings_of_the_evaluation_change_no_weight(run: Run):
    for changes in (["model.inductive_mean=false"], ["model.mu=0.9"], ["model.beam_size=3"]):
        changed, trained = run.load_model("cpu", changes), run.load_model("cpu")
        assert changed.config != trained.config
        for name, weight in trained.state_dict().items():
            assert weight.equal(changed.state_dict()[name])


@pytest.mark.slow
def test_an_evaluation_with_changed_settings_stands_beside_the_unchanged_one(run: Run, tmp_path: Path):
    titer("evaluate", run.path)
    plain = run.evaluations[-1]
    words = ["evaluate", run.path, "--set", "model.beam_size=1", "--label", "titer/narrow", "--results", tmp_path]
    found = json.loads(titer(*words, "--json"))
    assert found["changed"] == {"model.beam_size": 1}
    assert found["config"]["model"]["beam_size"] == 1
    assert found["metrics"] != plain["metrics"]
    assert [one for one in run.evaluations if one["split"] == "test"] == [plain, found]
    titer(*words)
    assert len([one for one in run.evaluations if one["split"] == "test"]) == 2
    assert "model.beam_size: 1" in (run.path / "README.md").read_text()
    compared = titer("compare", run.path)
    assert f"{run.path} with model.beam_size=1 " in compared
    assert titer("compare", "--paper", run.path).count("titer") == 1
    row = json.loads((tmp_path / "titer-narrow-seed0.json").read_text())
    assert row["metrics"] == found["metrics"]
    assert row["config"]["model"]["beam_size"] == 1
    assert row["command"] == "titer evaluate runs/run --set model.beam_size=1 --label titer/narrow"
    assert set(row) >= {"commit", "modified", "date", "hardware", "versions", "seconds"}


@pytest.mark.slow
def test_the_command_of_a_result_includes_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    titer("reproduce", "recurrency/icews14", "--data", "small-world", "--seed", "4", "--results", "rows")
    titer("evaluate", "runs/recurrency-icews14-seed4", "--results", "rows", "--split", "valid")
    row = json.loads(Path("rows/recurrency-small-world-seed4-valid.json").read_text())
    assert row["command"] == (
        "titer reproduce recurrency/icews14 --seed 4 --data small-world && "
        "titer evaluate runs/recurrency-icews14-seed4 --split valid --label recurrency/small-world"
    )
