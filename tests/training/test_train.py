import json
import shutil
import tomllib
from pathlib import Path

import pytest
import torch

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.errors import RunError, TiterError
from titer.evaluation.evaluate import evaluate
from titer.runs.run import Run
from titer.runs.train import train
from titer.training.config import Config
from training.tiny_model import TinyModel

QUICK = ["training.epochs=3", "training.learning_rate=0.01", "training.device=cpu"]


@pytest.fixture(scope="module")
def tiny_run(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    config = Config.load(model=TinyModel.name, overrides=QUICK)
    return train(world_data, config, tmp_path_factory.mktemp("runs") / "tiny")


def test_a_model_of_ones_own_learns_with_nothing_but_the_base_class(tiny_run: Run, world_data: Dataset):
    untrained = evaluate(TinyModel(world_data.vocabulary, world_data.axis).eval(), world_data, "valid").metrics().mrr
    assert evaluate(tiny_run.load_model("cpu"), world_data, "valid").metrics().mrr > untrained + 0.05


def test_a_run_directory_holds_all_that_belongs_to_it_and_no_pickle(tiny_run: Run):
    names = {path.name for path in tiny_run.path.iterdir() if not path.name.startswith(("checkpoint-", "tensorboard"))}
    expected = {"config.toml", "model.safetensors", "dataset", "metrics.json", "training.jsonl", "training.json"}
    assert names == expected | {"README.md"}
    assert len(list(tiny_run.path.glob("checkpoint-*.safetensors"))) == 2
    settings = tomllib.loads((tiny_run.path / "config.toml").read_text())
    assert settings["model"]["name"] == "tiny"
    assert settings["training"]["epochs"] == 3
    rows = [json.loads(line) for line in (tiny_run.path / "training.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows if "epoch" in row] == [1, 2, 3]
    assert rows[0]["loss"] > rows[2]["loss"]


def test_the_best_epoch_on_valid_is_kept(tiny_run: Run, world_data: Dataset):
    rows = [json.loads(line) for line in (tiny_run.path / "training.jsonl").read_text().splitlines()]
    best = max(row["valid_mrr"] for row in rows if "valid_mrr" in row)
    assert evaluate(tiny_run.load_model("cpu"), world_data, "valid").metrics().mrr == pytest.approx(best)
    assert tiny_run.evaluations[0]["metrics"]["mrr"] == pytest.approx(best)


def test_the_same_seed_gives_the_same_weights(tiny_run: Run, world_data: Dataset, tmp_path: Path):
    again = train(world_data, Config.load(model="tiny", overrides=QUICK), tmp_path / "again")
    other = train(world_data, Config.load(model="tiny", overrides=[*QUICK, "training.seed=1"]), tmp_path / "other")
    weights = [run.load_model("cpu").state_dict()["entity.weight"] for run in (tiny_run, again, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_a_copied_run_works_elsewhere(tiny_run: Run, tmp_path: Path):
    copied = Run(shutil.copytree(tiny_run.path, tmp_path / "elsewhere"))
    assert copied.dataset.checksum == tiny_run.dataset.checksum
    assert copied.load_model("cpu").name == "tiny"


def test_training_never_sees_the_test_split(world_data: Dataset, tmp_path: Path):
    """Whatever is in the test split, the trained weights are the same."""
    shuffled = world_data.test.object[::-1].copy()
    other_test = Facts(world_data.test.subject, world_data.test.relation, shuffled, world_data.test.time)
    other = Dataset("other", world_data.vocabulary, world_data.axis, world_data.train, world_data.valid, other_test)
    for name in ("tiny", "recurrency"):
        config = Config.load(model=name, overrides=["training.epochs=1", "training.device=cpu"])
        runs = [train(data, config, tmp_path / f"{name}-{i}") for i, data in enumerate((world_data, other))]
        one, two = (run.load_model("cpu").state_dict() for run in runs)
        assert all(torch.equal(one[key], two[key]) for key in one)


def test_a_loss_that_is_not_a_number_stops_training_and_leaves_the_last_good_checkpoint(world_data, tmp_path: Path):
    config = Config.load(model="tiny", overrides=[*QUICK, "model.fail_at=20"])  # in the second epoch
    with pytest.raises(TiterError, match="loss became nan in epoch 2"):
        train(world_data, config, tmp_path / "run")
    run = Run(tmp_path / "run")
    assert [path.name for path in run.path.glob("checkpoint-*")] == ["checkpoint-000001.safetensors"]
    assert all(bool(torch.isfinite(p).all()) for p in run.load_model("cpu").parameters())
    assert not run.is_finished


def test_an_existing_run_is_not_overwritten_unless_allowed(tiny_run: Run, world_data: Dataset, tmp_path: Path):
    config = Config.load(model="random_walk", overrides=["model.num_walks=10"])
    path = tmp_path / "run"
    train(world_data, config, path)
    with pytest.raises(TiterError, match="--overwrite"):
        train(world_data, config, path)
    assert train(world_data, config, path, overwrite=True).load_model("cpu").name == "random_walk"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "precious.txt").write_text("mine")
    with pytest.raises(TiterError, match="other things"):
        train(world_data, config, tmp_path / "other", overwrite=True)
    assert (tmp_path / "other" / "precious.txt").read_text() == "mine"


def test_nothing_of_an_overwritten_run_remains(tiny_run: Run, world_data: Dataset, tmp_path: Path):
    path = Path(shutil.copytree(tiny_run.path, tmp_path / "run"))
    (path / "tensorboard").mkdir(exist_ok=True)
    left = [path / "tensorboard" / "events.out.tfevents.1.old", path / "training.png", path / "facts.db-wal"]
    for file in left:
        file.write_text("old")
    run = train(world_data, Config.load(model="recurrency"), path, overwrite=True)
    assert not any(file.exists() for file in [*left, *path.glob("checkpoint-*")])
    assert run.log_rows == []


def test_a_wrong_setting_leaves_an_existing_run_as_it_was(tiny_run: Run, world_data: Dataset, tmp_path: Path):
    path = Path(shutil.copytree(tiny_run.path, tmp_path / "run"))
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    for override in ("training.seed=99999999999", "training.device=mps", "training.learning_rate=nan"):
        with pytest.raises(TiterError):
            train(world_data, Config.load(model="tiny", overrides=[override]), path, overwrite=True)
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize("precious", ["notes.txt", "dataset/mine.csv"])
def test_a_folder_with_anything_but_a_run_in_it_is_never_overwritten(
    world_data: Dataset, tmp_path: Path, precious: str
):
    file = tmp_path / "folder" / precious
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    (tmp_path / "folder" / "config.toml").write_text("[model]\n[training]\n")
    with pytest.raises(TiterError, match="other things"):
        train(world_data, Config.load(model="tiny", overrides=QUICK), tmp_path / "folder", overwrite=True)
    assert file.read_text() == "mine"


def test_damaged_runs_are_refused_with_a_reason(tiny_run: Run, tmp_path: Path):
    def damaged(name: str) -> Run:
        run = Run(shutil.copytree(tiny_run.path, tmp_path / name.replace("/", "-"), dirs_exist_ok=True))
        file = run.path / name
        content = bytearray(file.read_bytes())
        file.write_bytes(content[: len(content) // 2])
        return run

    with pytest.raises(RunError, match=r"model\.safetensors is damaged"):
        damaged("model.safetensors").load_model("cpu")
    with pytest.raises(RunError, match=r"metrics\.json is damaged"):
        _ = damaged("metrics.json").evaluations
    with pytest.raises(TiterError, match=r"test\.feather is damaged"):
        _ = damaged("dataset/test.feather").dataset
    with pytest.raises(RunError, match="not a run directory"):
        Run(tmp_path)


def test_data_without_a_validation_split_can_be_trained_on(world_data: Dataset, tmp_path: Path):
    everything = Dataset("all", world_data.vocabulary, world_data.axis, world_data.facts, Facts.empty(), Facts.empty())
    for name in ("recurrency", "tiny"):
        config = Config.load(model=name, overrides=["training.epochs=1"])
        run = train(everything, config, tmp_path / name)
        assert run.evaluations == []
        assert run.load_model("cpu").name == name
