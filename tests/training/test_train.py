import json
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors import safe_open
from torch import Tensor

from commands import titer
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.errors import RunError, TiterError
from titer.evaluation.evaluate import evaluate
from titer.evaluation.metrics import Metrics
from titer.graph.filters import TrueAnswers
from titer.graph.history import History
from titer.graph.pair_index import PairIndex
from titer.graph.queries import Queries
from titer.models.common.weight_cache import WeightKeyedCache
from titer.models.registry import register
from titer.runs import overwriting
from titer.runs.run import Run
from titer.runs.train import train
from titer.training.checkpoint import Progress
from titer.training.config import Config, TrainingConfig
from titer.training.loop import _train_epoch
from titer.training.reporter import Reporter
from titer.training.steps import Stepper
from training.tiny_model import TinyModel

QUICK = ["training.epochs=3", "training.learning_rate=0.01", "training.device=cpu"]


@pytest.fixture(scope="module")
def tiny_run(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    config = Config.load(model=TinyModel.name, overrides=QUICK)
    return train(world_data, config, tmp_path_factory.mktemp("runs") / "tiny")


def test_a_user_model_learns_with_only_the_base_class(tiny_run: Run, world_data: Dataset):
    untrained = evaluate(TinyModel(world_data.vocabulary, world_data.axis).eval(), world_data, "valid").metrics().mrr
    assert evaluate(tiny_run.load_model("cpu"), world_data, "valid").metrics().mrr > untrained + 0.05


def test_a_run_directory_holds_the_documented_files(tiny_run: Run):
    numbered = ("checkpoint-", "ranks-", "tensorboard")
    names = {path.name for path in tiny_run.path.iterdir() if not path.name.startswith(numbered)}
    expected = {"config.toml", "model.safetensors", "dataset", "metrics.json", "training.jsonl", "training.json"}
    assert names == expected | {"README.md"}
    assert len(list(tiny_run.path.glob("checkpoint-*.safetensors"))) == 2
    assert len(list(tiny_run.path.glob("ranks-*.npy"))) == 1
    settings = tomllib.loads((tiny_run.path / "config.toml").read_text())
    assert settings["model"]["name"] == "tiny"
    assert settings["training"]["epochs"] == 3
    rows = [json.loads(line) for line in (tiny_run.path / "training.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows if "epoch" in row] == [1, 2, 3]
    assert rows[0]["loss"] > rows[2]["loss"]


@register
class IndexedModel(TinyModel):
    """A model that also uses an index derived from its history."""

    name = "indexed"

    def score(self, queries: Queries, history: History) -> Tensor:
        assert history.pair_index is not None
        return super().score(queries, history)


def test_the_indexes_are_built_once_for_a_whole_training(
    world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    built: list[tuple[type, int]] = []
    for kind, size in ((History, lambda facts, _: len(facts)), (PairIndex, lambda history: history.num_edges // 2),
                       (TrueAnswers, lambda facts, *_: len(facts))):  # fmt: skip
        original = kind.__init__

        def count(self, *args, original=original, size=size):
            built.append((type(self), size(*args)))
            original(self, *args)

        monkeypatch.setattr(kind, "__init__", count)
    run = train(world_data, Config.load(model="indexed", overrides=QUICK), tmp_path / "run")
    assert len([row for row in run.log_rows if "valid_mrr" in row]) == 3
    train_facts, valid_facts = len(world_data.train), len(world_data.valid)
    histories = [train_facts, train_facts + valid_facts]
    assert sorted(size for kind, size in built if kind is History) == histories
    assert sorted(size for kind, size in built if kind is PairIndex) == histories
    # All facts of the validation steps for the rankings, and the validation split alone for the temperature.
    assert [size for kind, size in built if kind is TrueAnswers] == [valid_facts, valid_facts]


def test_caches_of_a_model_are_stale_after_an_epoch_even_if_tensor_versions_are_not_raised(
    world_data: Dataset, tmp_path: Path
):
    """A replayed CUDA graph changes weights in place without raising their versions."""
    model = TinyModel(world_data.vocabulary, world_data.axis)
    history = History(world_data.train, world_data.vocabulary)
    queries, answers = Queries.from_facts(world_data.train[:50], world_data.vocabulary)

    class SilentStepper(Stepper):
        def step(self, rows: Tensor) -> None:
            model.recency.data.add_(1.0)

        def averages(self) -> dict[str, float]:
            return {"loss": 0.0}

    cache = WeightKeyedCache[float]()
    before = cache(model, history, lambda: model.recency.item())
    config = TrainingConfig()
    with Reporter(tmp_path, config, Progress(), []) as reporter:
        _train_epoch(model, SilentStepper(model, queries, answers, history, config), 1, config, reporter)
    assert cache(model, history, lambda: model.recency.item()) == model.recency.item() > before


def test_the_best_epoch_on_valid_is_kept(tiny_run: Run, world_data: Dataset):
    rows = [json.loads(line) for line in (tiny_run.path / "training.jsonl").read_text().splitlines()]
    best = max(row["valid_mrr"] for row in rows if "valid_mrr" in row)
    assert evaluate(tiny_run.load_model("cpu"), world_data, "valid").metrics().mrr == pytest.approx(best)
    assert tiny_run.evaluations[0]["metrics"]["mrr"] == pytest.approx(best)


@pytest.mark.parametrize(("keep", "epoch"), [("best", 2), ("last", 3)])
def test_a_run_keeps_the_best_weights_or_the_last(
    world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: str, epoch: int
):
    scripted = iter([0.1, 0.3, 0.2])  # the second epoch is the best

    def validate(*_: object, **__: object) -> SimpleNamespace:
        mrr = next(scripted)
        return SimpleNamespace(metrics=lambda: Metrics(1, mrr, mrr, mrr, mrr, 1.0))

    monkeypatch.setattr("titer.training.loop.evaluate_task", validate)
    settings = [*QUICK, "training.epochs=3", "training.validate_every=1", f"training.keep={keep}"]
    run = train(world_data, Config.load(model="tiny", overrides=settings), tmp_path / "run")
    with safe_open(run.path / f"checkpoint-{epoch:06d}.safetensors", framework="pt") as file:
        expected = {name: file.get_tensor(f"model.{name}") for name in run.load_model("cpu").state_dict()}
    kept = run.load_model("cpu").state_dict()
    assert all(torch.equal(kept[name], tensor) for name, tensor in expected.items())


def test_the_weights_to_keep_are_the_best_or_the_last():
    with pytest.raises(TiterError, match=r"training\.keep must be one of best, last, not 'first'"):
        TrainingConfig(keep="first")


def test_the_same_seed_gives_the_same_weights(tiny_run: Run, world_data: Dataset, tmp_path: Path):
    again = train(world_data, Config.load(model="tiny", overrides=QUICK), tmp_path / "again")
    other = train(world_data, Config.load(model="tiny", overrides=[*QUICK, "training.seed=1"]), tmp_path / "other")
    weights = [run.load_model("cpu").state_dict()["entity.weight"] for run in (tiny_run, again, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_a_copied_run_loads_from_its_new_folder(tiny_run: Run, tmp_path: Path):
    copied = Run(shutil.copytree(tiny_run.path, tmp_path / "elsewhere"))
    assert copied.dataset.checksum == tiny_run.dataset.checksum
    assert copied.load_model("cpu").name == "tiny"


def test_training_never_sees_the_test_split(world_data: Dataset, tmp_path: Path):
    """The trained weights and the temperature do not depend on the test split."""
    shuffled = world_data.test.object[::-1].copy()
    other_test = Facts(world_data.test.subject, world_data.test.relation, shuffled, world_data.test.time)
    other = Dataset("other", world_data.vocabulary, world_data.axis, world_data.train, world_data.valid, other_test)
    for name in ("tiny", "recurrency"):
        config = Config.load(model=name, overrides=["training.epochs=1", "training.device=cpu"])
        runs = [train(data, config, tmp_path / f"{name}-{i}") for i, data in enumerate((world_data, other))]
        one, two = (run.load_model("cpu").state_dict() for run in runs)
        assert all(torch.equal(one[key], two[key]) for key in one)
        assert runs[0].summary["temperature"] == runs[1].summary["temperature"]


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
    with pytest.raises(TiterError, match="pass overwrite"):
        train(world_data, config, path)
    assert train(world_data, config, path, overwrite=True).load_model("cpu").name == "random_walk"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "precious.txt").write_text("mine")
    with pytest.raises(TiterError, match="contains files that do not belong to a run"):
        train(world_data, config, tmp_path / "other", overwrite=True)
    assert (tmp_path / "other" / "precious.txt").read_text() == "mine"


def test_overwriting_removes_all_files_of_the_old_run(tiny_run: Run, world_data: Dataset, tmp_path: Path):
    path = Path(shutil.copytree(tiny_run.path, tmp_path / "run"))
    (path / "tensorboard").mkdir(exist_ok=True)
    names = ("tensorboard/events.out.tfevents.1.old", "training.png", "training.svg", "facts.db-wal")
    left = [path / name for name in names]
    for file in left:
        file.write_text("old")
    run = train(world_data, Config.load(model="recurrency"), path, overwrite=True)
    assert not any(file.exists() for file in [*left, *path.glob("checkpoint-*")])
    assert run.log_rows == []


def test_a_wrong_setting_leaves_an_existing_run_unchanged(tiny_run: Run, world_data: Dataset, tmp_path: Path):
    path = Path(shutil.copytree(tiny_run.path, tmp_path / "run"))
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    for override, message in (
        ("training.seed=99999999999", r"training\.seed must be at most"),
        ("training.device=mps", "unsupported device 'mps'"),
        ("training.learning_rate=nan", r"training\.learning_rate must be a number"),
    ):
        with pytest.raises(TiterError, match=message):
            train(world_data, Config.load(model="tiny", overrides=[override]), path, overwrite=True)
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize("precious", ["notes.txt", "dataset/mine.csv"])
def test_a_folder_with_other_files_is_never_overwritten(world_data: Dataset, tmp_path: Path, precious: str):
    file = tmp_path / "folder" / precious
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    (tmp_path / "folder" / "config.toml").write_text("[model]\n[training]\n")
    with pytest.raises(TiterError, match="contains files that do not belong to a run"):
        train(world_data, Config.load(model="tiny", overrides=QUICK), tmp_path / "folder", overwrite=True)
    assert file.read_text() == "mine"


def test_damaged_runs_are_rejected_with_a_reason(tiny_run: Run, tmp_path: Path):
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


@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_one_command_checks_once_what_it_may_overwrite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resume: list[str]
):
    checked: list[Path] = []

    def check(path: Path, *, overwrite: bool = False) -> None:
        checked.append(path)
        overwriting.check_can_create(path, overwrite=overwrite)

    monkeypatch.setattr("titer.runs.run.check_can_create", check)
    words = ["train", "small-world", "--model", "recurrency", "--out", str(tmp_path / "run"), *resume]
    titer(*words)
    assert checked == [tmp_path / "run"]


def test_the_command_reports_a_wrong_setting_before_an_existing_run(tiny_run: Run):
    words = ["train", "small-world", "--model", "tiny", "--out", str(tiny_run.path), "--set"]
    with pytest.raises(TiterError, match=r"training\.epochs"):
        titer(*words, "training.epochs=-1")
    with pytest.raises(TiterError, match="already holds a run"):
        titer(*words, "training.epochs=1")


def test_a_run_without_weights_cannot_be_loaded_yet(tiny_run: Run, tmp_path: Path):
    run = Run(shutil.copytree(tiny_run.path, tmp_path / "run"))
    (run.path / "model.safetensors").unlink()
    with pytest.raises(RunError, match="training has not reached its first checkpoint"):
        run.load_model("cpu")


def test_defaults_for_the_number_of_facts_are_settings_of_the_run(
    world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def for_facts(given: Mapping[str, Any], num_facts: int | None = None, device: str = "cpu") -> dict[str, int]:
        return {"epochs": 1 if num_facts == len(world_data.train) else 2}

    monkeypatch.setattr(TinyModel, "training_defaults", for_facts)
    config = Config.load(model=TinyModel.name)
    assert config.training.epochs == 2
    run = train(world_data, config, tmp_path / "run")
    assert run.config.training.epochs == 1
    assert len(run.log_rows) == 1
    again = train(world_data, Config.load(model=TinyModel.name), tmp_path / "run", resume=True)
    assert again.is_finished
