"""``titer.train`` and ``titer.evaluate``: one call from a dataset to a forecaster and to metrics."""

import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch

import titer
from commands import titer as command
from titer.models.registry import BUILT_IN, model_class

SMALL: dict[str, Any] = {"dim": 8, "relation_dim": 8, "hidden_dim": 8, "first_edges": 8, "second_edges": 8}


@pytest.fixture
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which temporary directories are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_training_without_a_run_directory_leaves_nothing_behind(
    temporary_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    forecaster = titer.train("small-world", "recurrency")
    assert forecaster.run is None
    assert (forecaster.model.name, forecaster.dataset.name) == ("recurrency", "small-world")
    assert forecaster.ask("Caldera", "invite", at="2023-07-01", explain=1).answers[0].reasons
    assert [path.name for path in tmp_path.iterdir()] == ["temporary"]
    assert list(temporary_folder.iterdir()) == []


def test_a_failed_training_leaves_nothing_behind(temporary_folder: Path):
    with pytest.raises(titer.TiterError):
        titer.train("small-world", "recurrency", device="tpu")
    assert list(temporary_folder.iterdir()) == []


@pytest.mark.slow
def test_training_into_a_run_directory_gives_the_run_of_the_command(world_data: titer.Dataset, tmp_path: Path):
    forecaster = titer.train(
        world_data, out=tmp_path / "call", seed=3, device="cpu", epochs=1, recent_steps=20, **SMALL
    )
    given = [f"--set=model.{name}={value}" for name, value in SMALL.items()]
    given += ["--set=training.epochs=1", "--set=training.seed=3", "--set=training.device=cpu"]
    given += ["--set=training.recent_steps=20"]
    command("train", "small-world", "--out", tmp_path / "command", *given)
    called, run = forecaster.run, titer.Run(tmp_path / "command")
    assert called is not None
    assert called.path == tmp_path / "call"
    assert called.config == run.config
    weights, expected = called.load_model("cpu").state_dict(), run.load_model("cpu").state_dict()
    assert all(torch.equal(weights[name], tensor) for name, tensor in expected.items())


def test_a_run_is_replaced_or_resumed_only_on_request(tmp_path: Path):
    titer.train("small-world", "recurrency", out=tmp_path / "run")
    with pytest.raises(
        titer.TiterError, match="already holds a run; choose another folder, or pass overwrite or resume"
    ):
        titer.train("small-world", "recurrency", out=tmp_path / "run")
    for overwrite, resume in ((True, False), (False, True)):
        assert titer.train("small-world", "recurrency", out=tmp_path / "run", overwrite=overwrite, resume=resume).run
        with pytest.raises(titer.TiterError, match="need out"):
            titer.train("small-world", "recurrency", overwrite=overwrite, resume=resume)


def test_a_missing_configuration_file_is_named_once():
    with pytest.raises(titer.ConfigError, match=r"^nope\.toml: no such file$"):
        titer.train("small-world", config="nope.toml")


def test_the_settings_to_choose_from_are_listed_once():
    with pytest.raises(titer.ConfigError, match="choose from") as refused:
        titer.train("small-world", "recurrency", zzz=1)
    listed = str(refused.value).partition("choose from ")[2].split(", ")
    assert "batch_size" in listed
    assert len(set(listed)) == len(listed)


def test_a_dataset_is_found_by_its_folder(recurrency_run: Path, world_data: titer.Dataset):
    assert titer.train(recurrency_run / "dataset", "recurrency").dataset.checksum == world_data.checksum


def test_settings_change_a_configuration(tmp_path: Path):
    base = titer.Config.from_dict({"model": {"num_walks": 20}, "training": {"seed": 1}}, "random_walk")
    file = tmp_path / "settings.toml"
    file.write_text('[model]\nname = "random_walk"\nnum_walks = 20\n[training]\nseed = 1\n')
    for number, config in enumerate((base, file, str(file))):
        run = titer.train("small-world", config=config, out=tmp_path / f"{number}", num_walks=30).run
        assert run is not None
        assert (run.config.model.num_walks, run.config.training.seed) == (30, 1)
    assert base.model.num_walks == 20
    with pytest.raises(titer.ConfigError, match="'random_walk', not for 'titer'"):
        titer.train("small-world", "titer", config=base)


@pytest.mark.slow
def test_a_published_configuration_is_found_by_name(tmp_path: Path):
    run = titer.train("small-world", config="titer/small-world", out=tmp_path / "run", epochs=0, preset="paper").run
    assert run is not None
    published = titer.Config.from_dict({"model": {"name": "titer"}})
    assert run.config.model_name == "titer"
    assert run.config.training.epochs == 0
    assert run.config.training.batch_size != published.training.batch_size
    command(
        "train",
        "small-world",
        "--config",
        "titer/small-world",
        "--out",
        tmp_path / "command",
        "--set=training.epochs=0",
    )
    assert titer.Run(tmp_path / "command").config.training == run.config.training
    with pytest.raises(titer.UnknownNameError, match="titer/small-world"):
        titer.train("small-world", config="titer/smallworld")
    with pytest.raises(titer.ConfigError, match="preset"):
        titer.train("small-world", config=run.config, preset="paper")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epoch": 3}, "unknown setting 'epoch' of path_mixture; did you mean 'epochs'"),
        ({"hiden_dim": 3}, "did you mean 'hidden_dim'"),
        ({"xyzzy": 3}, "choose from epochs, "),
        ({"epochs": "three"}, "training.epochs must be a whole number"),
        ({"dim": 2.5}, "model.dim must be a whole number"),
        ({"model": "path_mixtur"}, "path_mixture"),
        ({"model": {"epochs": 1}}, "the model must be a name such as 'path_mixture', not {'epochs': 1}"),
    ],
)
def test_a_wrong_setting_is_reported_before_training(settings: dict[str, Any], message: str):
    with pytest.raises(titer.TiterError) as error:
        titer.train("small-world", **settings)
    assert message in str(error.value)


def test_a_setting_of_both_tables_means_the_same_in_both():
    arguments = {"dataset", "model", "config", "out", "overwrite", "resume"}
    training = {field.name for field in fields(titer.TrainingConfig)}
    assert arguments.isdisjoint(training)
    for name in BUILT_IN:
        model = model_class(name)
        shared = {field.name for field in fields(model.Config)} & (training | arguments)
        # Models that train by gradients read both tables, so no name may be in both.
        trains = model.training_step is not titer.Model.training_step
        assert shared <= (set() if trains else {"seed", "batch_size"}), name


def test_a_seed_decides_everything_random(tmp_path: Path):
    run = titer.train("small-world", "random_walk", num_walks=5, seed=7, out=tmp_path / "run").run
    assert run is not None
    assert (run.config.training.seed, run.config.model.seed) == (7, 7)


def test_everything_with_a_model_can_be_evaluated(recurrency_run: Path, world_data: titer.Dataset):
    forecaster = titer.Forecaster.load(recurrency_run, "cpu")
    run = titer.Run(recurrency_run)
    found = [titer.evaluate(what) for what in (forecaster, run, recurrency_run, str(recurrency_run))]
    found.append(titer.evaluate(forecaster.model, world_data))
    found.append(titer.evaluate(forecaster.model, "small-world", "test", titer.Protocol()))
    assert {evaluation.metrics().mrr for evaluation in found} == {found[0].metrics().mrr}
    assert (found[0].split, found[0].protocol.name) == ("test", "realistic")


def test_evaluate_takes_a_split_and_a_protocol_and_writes_nothing(recurrency_run: Path):
    before = (recurrency_run / "metrics.json").read_bytes()
    found = titer.evaluate(recurrency_run, split="valid", protocol="paper", quiet=True)
    assert (found.split, found.protocol.name) == ("valid", "paper")
    assert (recurrency_run / "metrics.json").read_bytes() == before


def test_evaluate_reports_what_does_not_go_together(recurrency_run: Path, world_data: titer.Dataset):
    model = titer.Run(recurrency_run).load_model("cpu")
    with pytest.raises(titer.TiterError, match=r"evaluate\(model, dataset\)"):
        titer.evaluate(model)
    with pytest.raises(titer.TiterError, match="split="):
        titer.evaluate(recurrency_run, "valid")
    with pytest.raises(titer.TiterError, match="unknown split 'tset'"):
        titer.evaluate(recurrency_run, split="tset")
    with pytest.raises(titer.TiterError, match="lucky"):
        titer.evaluate(model, world_data, protocol="lucky")


def test_a_forecaster_and_a_run_are_shown_in_one_line(recurrency_run: Path):
    forecaster = titer.Forecaster.load(recurrency_run, "cpu")
    shown = f"recurrency on small-world, 128 entities, facts up to 2023-06-30, {recurrency_run}"
    assert str(forecaster) == f"<Forecaster: {shown}>"
    assert repr(forecaster.run) == f"<Run: recurrency, {recurrency_run}>"
