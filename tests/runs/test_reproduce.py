"""Published configurations, result files and training curves."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from commands import titer
from titer.errors import TiterError
from titer.runs.reproduce import PUBLISHED, configurations, find_configuration
from titer.runs.run import Run
from titer.training.config import Config

ROOT = Path(__file__).parents[2]
FIELDS = {
    "model",
    "dataset",
    "split",
    "convention",
    "seed",
    "config",
    "command",
    "hardware",
    "versions",
    "metrics",
    "seconds",
}


@pytest.mark.parametrize("name", configurations())
def test_every_published_configuration_can_be_read(name: str):
    assert Config.load(find_configuration(name)).model_name == name.partition("/")[0]


def test_the_four_benchmarks_have_the_papers_settings():
    edges = {"icews14": 50, "icews18": 50, "wiki": 60, "yago": 30}
    for name, expected in edges.items():
        config = Config.load(PUBLISHED / "titer" / f"{name}.toml")
        assert (config.model.num_edges, config.model.path_length, config.training.batch_size) == (expected, 3, 512)


QUICK = ["--set", "training.epochs=1", "--set", "training.validate_every=1", "--set", "model.beam_size=5"]


@pytest.mark.slow
def test_reproduce_trains_evaluates_and_writes_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("titer.runs.session.peak_memory", lambda _device: {"gpu_gigabytes": 1.5})
    words = ["reproduce", "titer/small-world", "--results", tmp_path / "results"]
    shown = titer(*words, "--out", tmp_path / "run", "--label", "quick", "--seed", "3", *QUICK)
    row = json.loads((tmp_path / "results" / "quick-seed3.json").read_text())
    assert set(row) >= FIELDS | {"commit", "modified", "date", "calibration"}
    assert (row["seed"], row["model"], row["split"]) == (3, "titer", "test")
    assert row["config"]["model"]["beam_size"] == 5
    assert row["gpu_gigabytes"] == 1.5
    assert 0 <= row["calibration"]["expected_calibration_error"] <= 1
    assert row["command"].startswith("titer reproduce titer/small-world --seed 3")
    assert f"{100 * row['metrics']['mrr']:.2f}" in shown
    assert "note" not in row
    again = titer(*words, "--out", tmp_path / "run", "--label", "quick", "--seed", "3", *QUICK)
    assert again == shown
    titer(*words, "--out", tmp_path / "run", "--label", "quick", "--seed", "3", *QUICK, "--note", "what was tried")
    noted = json.loads((tmp_path / "results" / "quick-seed3.json").read_text())
    assert (noted["note"], noted["metrics"]) == ("what was tried", row["metrics"])


@pytest.mark.slow
def test_training_curves_are_drawn_as_an_svg_file(tmp_path: Path):
    quick = ["--set", "training.epochs=3", "--set", "training.validate_every=2", "--set", "model.dim=8"]
    titer("train", "small-world", "--model", "ttranse", "--out", tmp_path / "run", *quick)
    run = Run(tmp_path / "run")
    assert titer("plot", run.path).strip() == str(run.path / "training.svg")
    picture = ElementTree.parse(run.path / "training.svg").getroot()
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "ttranse on small-world"
    assert {"loss", "MRR × 100 on the validation split", "epoch", "1", "2", "3"} <= set(texts)
    loss, mrr = (
        [tuple(map(float, point.split(","))) for point in line.get("points", "").split()]
        for line in picture.iter("{http://www.w3.org/2000/svg}polyline")
    )
    assert (len(loss), len(mrr)) == (3, 2)  # validated after epochs 2 and 3
    # The lower the loss, the lower its point: y grows downwards.
    losses = [row["loss"] for row in run.log_rows]
    assert sorted(range(3), key=lambda i: losses[i]) == sorted(range(3), key=lambda i: -loss[i][1])
    assert [x for x, _ in mrr] == [x for x, _ in loss[1:]]
    titer("plot", run.path, "--out", tmp_path / "curves.svg")
    assert (tmp_path / "curves.svg").read_text() == (run.path / "training.svg").read_text()
    with pytest.raises(TiterError, match=r"curves\.svg already exists; .* pass --overwrite"):
        titer("plot", run.path, "--out", tmp_path / "curves.svg")
    titer("plot", run.path, "--out", tmp_path / "curves.svg", "--overwrite")
    with pytest.raises(TiterError, match=r"curves\.png: .* ends in \.svg"):
        titer("plot", run.path, "--out", tmp_path / "curves.png")
    # A picture of an earlier version is part of the run: it does not stop the run from being overwritten.
    (run.path / "training.png").write_bytes(b"old")
    titer("train", "small-world", "--model", "recurrency", "--out", run.path, "--overwrite")
    assert not (run.path / "training.png").exists()
    assert not (run.path / "training.svg").exists()


def test_unknown_configurations_are_rejected_by_name(tmp_path: Path):
    for name in ("titer/icews15", "../secrets", "titer"):
        with pytest.raises(TiterError, match="unknown configuration"):
            titer("reproduce", name, "--out", tmp_path / "run")
    with pytest.raises(TiterError, match=r"; did you mean .*'titer/icews14'"):
        titer("size", "titer/icews15")


@pytest.mark.slow
def test_settings_can_be_chosen_without_evaluating_the_test_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Works in any folder, and does not change the result of the test split."""
    monkeypatch.chdir(tmp_path)
    words = ["reproduce", "titer/small-world", "--label", "quick", "--results", "rows", *QUICK]
    assert " on valid (" in titer(*words, "--split", "valid")
    row = json.loads(Path("rows/quick-seed0-valid.json").read_text())
    assert (row["split"], row["command"].endswith("--split valid")) == ("valid", True)
    measured = json.loads(Path("runs/quick-seed0/metrics.json").read_text())["evaluations"]
    assert {found["split"] for found in measured} == {"valid"}
    titer(*words)
    assert json.loads(Path("rows/quick-seed0.json").read_text())["split"] == "test"
    assert json.loads(Path("rows/quick-seed0-valid.json").read_text()) == row


def test_other_configurations_than_the_published_ones_can_be_named(tmp_path: Path):
    with pytest.raises(TiterError, match=f"unknown configuration 'titer/icews14' in {re.escape(str(tmp_path))}"):
        titer("reproduce", "titer/icews14", "--configs", tmp_path)


def test_a_run_without_epochs_has_no_curves(tmp_path: Path):
    titer("train", "small-world", "--model", "recurrency", "--out", tmp_path / "run")
    with pytest.raises(TiterError, match="no training curves"):
        titer("plot", tmp_path / "run")


@pytest.mark.parametrize("path", sorted(ROOT.glob("benchmarks/results/*.json")), ids=lambda path: path.stem)
def test_every_stored_result_has_its_command_and_settings(path: Path):
    row = json.loads(path.read_text(encoding="utf-8"))
    assert set(row) >= FIELDS
    assert row["command"].startswith("titer reproduce ")
    assert len(row["dataset"]["checksum"]) == 64
    assert re.fullmatch("[0-9a-f]{7,40}", row.get("commit", "0000000"))  # files before this field have none
