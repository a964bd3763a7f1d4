"""The command that trains: seeds, the baseline, interruption and resumption."""

import json
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from commands import invoke, titer
from conftest import SMALL_CONFIGS, SMALL_TRAINING
from titer.data.dataset import Dataset
from titer.errors import ConfigError, TiterError
from titer.runs.run import Run
from titer.runs.train import train
from titer.toml import to_toml
from titer.training import loop
from titer.training.config import Config
from warm_processes import WarmProcess

QUICK = ("--set", "model.num_walks=5")


@pytest.fixture
def small_path_mixture(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(to_toml(SMALL_CONFIGS["path_mixture"].to_dict()))
    return path


def test_seeds_train_one_run_each(tmp_path: Path):
    shown = titer("train", "small-world", "--model", "random_walk", "--seeds", "0,1", "--out", tmp_path, *QUICK)
    runs = [Run(tmp_path / f"seed{seed}") for seed in (0, 1)]
    assert [run.config.training.seed for run in runs] == [0, 1]
    # The seed of the model's own sampling differs too, so the results do.
    first, second = (run.evaluations[0]["metrics"]["mrr"] for run in runs)
    assert first != second
    assert re.search(r"validation MRR \d+\.\d\d ± \d+\.\d\d over 2 seeds", shown)


def test_a_training_warns_if_most_entities_of_the_validation_are_unseen(tmp_path: Path):
    rows = "".join(f"Google,acquired,Company {day},2020-01-{day:02d}\n" for day in range(1, 31))
    (tmp_path / "deals.csv").write_text(f"subject,relation,object,time\n{rows}")
    titer("data", "import", tmp_path / "deals.csv", "--out", tmp_path / "deals")
    shown = invoke("train", tmp_path / "deals", "--model", "recurrency", "--out", tmp_path / "run").stderr
    assert "warning: 100% of the validation facts have an entity that no training fact has" in shown
    shown = invoke("train", "small-world", "--model", "recurrency", "--out", tmp_path / "other").stderr
    assert "warning" not in shown


def test_seeds_must_be_numbers(tmp_path: Path):
    with pytest.raises(ConfigError, match="--seeds must be whole numbers"):
        titer("train", "small-world", "--seeds", "0;1", "--out", tmp_path / "run")
    with pytest.raises(TiterError, match="give --seed or --seeds"):
        titer("train", "small-world", "--seeds", "0,1", "--seed", "2", "--out", tmp_path / "run")


def test_shortcuts_are_settings(tmp_path: Path):
    words = ("--model", "ttranse", "--set", "model.dim=4", "--epochs", "1", "--seed", "7", "--device", "cpu")
    titer("train", "small-world", *words, "--out", tmp_path / "run")
    training = Run(tmp_path / "run").config.training
    assert (training.epochs, training.seed, training.device) == (1, 7, "cpu")


def test_a_training_without_a_model_names_what_counting_reaches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_path_mixture: Path
):
    monkeypatch.setattr("titer.training.config.DEFAULT_MODEL", "random_walk")
    shown = titer("train", "small-world", "--out", tmp_path / "run", *QUICK)
    assert re.search(r"recurrency, which only counts past facts, reaches \d\d\.\d\d on the same queries", shown)
    assert re.search(r"as good here, and faster: the difference is -\d+\.\d\d, with a 95% interval", shown)
    assert "titer train DATASET --model recurrency" in shown


def test_a_training_of_a_chosen_model_does_not(tmp_path: Path):
    assert "counts" not in titer("train", "small-world", "--model", "random_walk", "--out", tmp_path / "run", *QUICK)


def interrupted(data: Dataset, path: Path, *, overwrite: bool = False) -> None:
    """Interrupt a training of three epochs after the first."""
    original = loop._train_epoch

    def interrupt(model, stepper, epoch, config, reporter):
        if epoch > 1:
            raise KeyboardInterrupt
        return original(model, stepper, epoch, config, reporter)

    config = Config.from_dict({"model": {"dim": 8}, "training": {**SMALL_TRAINING, "epochs": 3}}, "ttranse")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "_train_epoch", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train(data, config, path, overwrite=overwrite)


@pytest.fixture(scope="module")
def unfinished(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("unfinished") / "run"
    interrupted(world_data, path)
    return path


class TestInterruptedRun:
    @pytest.fixture
    def run(self, unfinished: Path, tmp_path: Path) -> Path:
        return shutil.copytree(unfinished, tmp_path / "run")

    def test_it_resumes_without_its_settings_or_data(self, run: Path):
        titer("train", "--out", run, "--resume")
        assert Run(run).is_finished
        assert [row["epoch"] for row in Run(run).log_rows] == [1, 2, 3]

    def test_other_settings_are_named(self, run: Path):
        with pytest.raises(TiterError, match=r"training\.epochs is 3, not 2") as caught:
            titer("train", "small-world", "--model", "ttranse", "--out", run, "--resume", "--epochs", "2")
        assert "model.dim is 8" in str(caught.value)

    def test_answers_and_evaluations_say_that_training_is_not_finished(self, run: Path):
        for words in (("forecast", run, "Aldoria", "accuse"), ("evaluate", run, "--no-baseline")):
            result = invoke(*words)
            assert "training is not finished (epoch 1 of 3); to continue: titer train --out" in result.stderr
            assert result.exit_code == 0


def test_an_interrupted_training_that_was_to_replace_a_run_is_resumed_with_its_own_settings(
    world_data: Dataset, tmp_path: Path
):
    run = tmp_path / "run"
    titer("train", "small-world", "--model", "recurrency", "--out", run)
    interrupted(world_data, run, overwrite=True)
    assert Run(run).config.model_name == "recurrency"
    titer("train", "--out", run, "--resume")
    assert (Run(run).config.model_name, Run(run).is_finished) == ("ttranse", True)


def test_a_new_training_needs_a_dataset(tmp_path: Path):
    with pytest.raises(TiterError, match="give a DATASET"):
        titer("train", "--out", tmp_path / "run")


@pytest.mark.slow
def test_an_interrupt_prints_how_to_continue(tmp_path: Path):
    out = tmp_path / "run"
    words = [
        "train",
        "small-world",
        "--model",
        "ttranse",
        "--set",
        "model.dim=8",
        "--epochs",
        "100000",
        "--set",
        "training.patience=0",
        "--out",
        out,
    ]
    process = WarmProcess(*words, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while not list(out.glob("checkpoint-*.safetensors")) and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.search(rf"interrupted after epoch \d+; to continue: titer train --out {out} --resume", printed)
    assert "Traceback" not in printed


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compared")
    titer("train", "small-world", "--model", "random_walk", "--seeds", "0,1,2", "--out", folder / "walks", *QUICK)
    few = ("--set", "model.num_walks=2")
    titer("train", "small-world", "--model", "random_walk", "--out", folder / "few" / "seed0", *few)
    titer("train", "small-world", "--model", "recurrency", "--out", folder / "counts" / "seed0")
    return folder


class TestCompare:
    def test_a_folder_of_seeds_is_one_row_with_mean_and_deviation(self, runs: Path):
        found = json.loads(titer("compare", runs / "walks", runs / "counts", "--split", "valid", "--json"))
        assert [row["model"] for row in found] == ["random_walk", "recurrency"]
        values = found[0]["metrics"]["mrr"]["values"]
        assert len(values) == len(found[0]["runs"]) == 3
        assert found[0]["metrics"]["mrr"]["mean"] == pytest.approx(sum(values) / 3)
        assert found[0]["difference"] is None
        difference = found[1]["difference"]
        gained = found[1]["metrics"]["mrr"]["mean"] - found[0]["metrics"]["mrr"]["mean"]
        assert difference["difference"] == pytest.approx(gained, abs=1e-6)
        assert 0 < difference["low"] < difference["difference"] < difference["high"]
        shown = titer("compare", runs / "walks", runs / "counts", "--split", "valid")
        assert re.search(r"walks \(3 runs\) +random_walk .* \d+\.\d\d ± \d+\.\d\d", shown)
        assert re.search(r"\+\d+\.\d\d \(\+\d+\.\d\d to \+\d+\.\d\d\)", shown)

    def test_settings_that_differ_are_a_column(self, runs: Path):
        shown = titer("compare", runs / "walks", runs / "few", "--split", "valid")
        assert "model.num_walks=5" in shown
        assert "model.num_walks=2" in shown
        assert "settings" not in titer("compare", runs / "walks", "--split", "valid")

    def test_runs_without_ranks_are_compared_by_their_means_only(self, runs: Path, tmp_path: Path):
        shutil.copytree(runs / "counts" / "seed0", tmp_path / "old")
        for path in (tmp_path / "old").glob("ranks-*"):
            path.unlink()
        found = json.loads(titer("compare", runs / "walks", tmp_path / "old", "--split", "valid", "--json"))
        assert [row["difference"] for row in found] == [None, None]

    def test_a_folder_without_runs_is_an_error(self, tmp_path: Path):
        with pytest.raises(TiterError, match="is not a run directory, and holds none"):
            titer("compare", tmp_path)
