"""Training on all facts, with what validation chose."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from commands import invoke, titer
from titer.data.attributes import Attributes
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.errors import RunError, TiterError
from titer.forecasting.forecaster import Forecaster
from titer.models.recurrency import Recurrency
from titer.runs.refit import refit, refit_config
from titer.runs.run import Run
from titer.runs.train import train
from titer.store.facts import FactStore, NamedFact
from titer.store.merged import merged_dataset
from titer.training.config import Config
from training.tiny_model import TinyModel

QUICK = ["training.epochs=4", "training.device=cpu", "training.learning_rate=0.01"]


@pytest.fixture(scope="module")
def selected(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    config = Config.load(model=TinyModel.name, overrides=QUICK)
    return train(world_data, config, tmp_path_factory.mktemp("runs") / "tiny")


def test_a_refit_knows_every_fact_and_trains_as_long_as_validation_chose(selected: Run, tmp_path: Path):
    best = max(selected.log_rows, key=lambda row: row["valid_mrr"])["epoch"]
    run = refit(selected, tmp_path / "run")
    assert [row["epoch"] for row in run.log_rows] == list(range(1, best + 1))
    assert sorted(run.dataset.train) == sorted(selected.dataset.facts)
    assert len(run.dataset.valid) == len(run.dataset.test) == 0
    assert run.summary["temperature"] == selected.summary["temperature"]
    assert run.summary["refit_of"]["evaluations"][0]["metrics"] == selected.evaluations[0]["metrics"]
    assert run.state == "trained on all facts, with what validation chose for tiny"
    assert run.load_model("cpu").temperature == selected.summary["temperature"]


def test_the_epochs_are_those_of_the_best_validation(tmp_path: Path, selected: Run, monkeypatch: pytest.MonkeyPatch):
    rows = [{"epoch": epoch, "valid_mrr": mrr} for epoch, mrr in ((1, 0.2), (2, 0.5), (3, 0.4))]
    monkeypatch.setattr(Run, "log_rows", property(lambda _: rows))
    assert refit_config(selected).training.epochs == 2
    last = Run(selected.path)
    last.config = replace(selected.config, training=replace(selected.config.training, keep="last"))
    assert refit_config(last).training.epochs == 4


def test_the_first_refit_epoch_is_that_of_a_training_on_all_facts(selected: Run, tmp_path: Path, world_data: Dataset):
    # The same model trained on one split with all facts: validation facts count as training facts.
    everything = replace(world_data, train=world_data.facts, valid=Facts.empty(), test=Facts.empty())
    run = refit(selected, tmp_path / "run")
    direct = train(everything, run.config, tmp_path / "direct")
    ours, theirs = (one.load_model("cpu").state_dict() for one in (run, direct))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_model_without_epochs_chooses_its_settings_with_all_facts_as_history(
    recurrency_run: Path, tmp_path: Path, world_data: Dataset
):
    expected = Recurrency(world_data.vocabulary, world_data.axis)
    expected.prepare(Facts.concatenate(world_data.train, world_data.test), world_data.valid)
    model = refit(Run(recurrency_run), tmp_path / "run").load_model("cpu")
    assert torch.equal(model.state_dict()["decay"], expected.decay)


def test_an_unfinished_run_is_not_refitted(world_data: Dataset, tmp_path: Path):
    run = Run.create(tmp_path / "run", Config.load(model=TinyModel.name), world_data)
    with pytest.raises(RunError, match=r"training is not finished; continue with: titer train --out .* --resume"):
        refit(run, tmp_path / "new")


def test_attributes_stay_with_their_facts(world_data: Dataset, tmp_path: Path):
    # Splits in reverse order of time, as after facts of the past were added.
    codes = torch.arange(len(world_data.facts)).int().numpy()
    mixed = replace(world_data, train=world_data.test, test=world_data.train)
    texts = [f"row {row}" for row in range(len(codes))]
    with_rows = replace(mixed, attributes=Attributes.of({"number": (codes, texts)}))
    run = train(world_data, Config.load(model="recurrency"), tmp_path / "run")
    data = refit(run, tmp_path / "new", with_rows).dataset
    assert data.attributes is not None
    fact = list(mixed.facts)[5]
    assert data.attributes.find(data.facts, fact) == {"number": "row 5"}


class TestRetrain:
    @pytest.fixture
    def run(self, recurrency_run: Path, run_copy) -> Path:
        path = run_copy(recurrency_run)
        new = path.parent / "new.csv"
        new.write_text(
            "subject,relation,object,time\nAldoria,accuse,Zubrowka,2023-07-02\nAldoria,accuse,Drovia,2023-07-02\n"
        )
        titer("facts", "add", path, new)
        return path

    def test_added_facts_are_part_of_the_new_dataset(self, run: Path, tmp_path: Path):
        shown = titer("retrain", run, "--out", tmp_path / "second")
        assert "2 added ones included" in shown
        old, new = Run(run), Run(tmp_path / "second")
        assert len(new.dataset.train) == len(old.dataset.facts) + 2
        assert new.dataset.vocabulary.entities[-1] == "Zubrowka"
        assert new.dataset.axis.label(int(new.dataset.train.time.max())) == "2023-07-02"
        assert not new.store_path.exists()
        with Forecaster.load(new, "cpu") as second, Forecaster.load(old, "cpu") as first:
            answers = [one.ask("Aldoria", "accuse", at="2023-07-03", top=3) for one in (first, second)]
        assert {a.entity for a in answers[0].answers} == {a.entity for a in answers[1].answers}

    def test_it_does_not_change_the_old_run_or_overwrite_another(self, run: Path, tmp_path: Path):
        before = {
            path: path.stat().st_mtime_ns for path in run.rglob("*") if path.is_file() and "facts.db" not in path.name
        }
        titer("retrain", run, "--out", tmp_path / "second")
        assert before == {path: path.stat().st_mtime_ns for path in before}
        with pytest.raises(TiterError, match="already holds a run"):
            titer("retrain", run, "--out", tmp_path / "second")

    def test_a_run_without_added_facts_is_trained_on_its_own_facts(self, recurrency_run: Path, tmp_path: Path):
        assert "0 added ones" in titer("retrain", recurrency_run, "--out", tmp_path / "second")


def test_ids_of_added_entities_are_those_of_the_live_history(world_data: Dataset, tmp_path: Path):
    from titer.store.live import LiveHistory

    last = int(world_data.facts.time.max())
    with FactStore(tmp_path / "facts.db", world_data) as store:
        store.add(
            [NamedFact("New one", "accuse", "Drovia", last + 1), NamedFact("Drovia", "invite", "Other", last + 1)]
        )
        merged, count = merged_dataset(store)
        assert merged.vocabulary.entities == LiveHistory(store).current().vocabulary.entities
    assert count == 2
    assert list(merged.facts)[: len(world_data.facts)] == list(world_data.facts)


def test_train_refit_writes_both_runs(tmp_path: Path):
    shown = invoke("train", "small-world", "--model", "recurrency", "--out", tmp_path / "run", "--refit")
    assert f"{tmp_path / 'run'}: trained on all 4,363 facts" in shown.stdout
    assert json.loads((tmp_path / "run-selection" / "metrics.json").read_text())["evaluations"]
    assert len(Run(tmp_path / "run").dataset.train) == 4363
