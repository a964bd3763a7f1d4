"""``titer evaluate --protocol tgb``: what a submission to the leaderboard needs."""

import json
import statistics
from pathlib import Path

import numpy as np
import pytest

from commands import invoke, titer
from conftest import SMALL_CONFIGS
from tgb_benchmark.generated import dump_candidates, write_tgb
from tgb_benchmark.test_evaluation import exclusion_sets
from titer.data.load import load_dataset
from titer.data.tgb.catalogue import candidate_file
from titer.evaluation.evaluate import evaluate
from titer.runs.run import Run
from titer.runs.train import train


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train two seeds on a generated dataset; the candidate files are in its folder."""
    folder = tmp_path_factory.mktemp("tgb")
    dataset = load_dataset(write_tgb(folder / "data", "tkgl-smallpedia", num_facts=200))
    for split in ("valid", "test"):
        sets = exclusion_sets(dataset, split, lambda step: 1900 + step)
        dump_candidates(folder / "data" / candidate_file("tkgl-smallpedia", split), sets)
    for seed in (1, 0):
        train(dataset, SMALL_CONFIGS["path_mixture"].with_seed(seed), folder / "runs" / f"seed{seed}")
    return folder


@pytest.mark.slow
def test_the_summary_has_all_seeds_with_both_splits_time_and_memory(runs: Path):
    words = ["evaluate", runs / "runs", "--protocol", "tgb", "--candidates", runs / "data", "--device", "cpu"]
    found = json.loads(titer(*words, "--json"))
    assert found["seeds"] == [0, 1]
    assert found["missing_seeds"] == 3
    for split in ("valid", "test"):
        expected = [
            evaluate(run.load_model("cpu"), run.dataset, split, quiet=True).metrics().mrr
            for run in (Run(runs / "runs" / f"seed{seed}") for seed in (0, 1))
        ]
        assert [run[split]["mrr"] for run in found["runs"]] == pytest.approx(expected)
        assert found[f"{split}_mrr"]["mean"] == pytest.approx(statistics.fmean(expected))
        assert found[f"{split}_mrr"]["standard_deviation"] == pytest.approx(statistics.stdev(expected))
    assert found["training_seconds"] > 0
    assert found["test_seconds"] > 0
    assert found["resident_gigabytes"] > 0.01
    assert found["parameters"] > 0
    shown = invoke(*words)
    assert f"validation MRR: {found['valid_mrr']['mean']:.4f} ± " in shown.stdout
    assert f"test MRR: {found['test_mrr']['mean']:.4f} ± " in shown.stdout
    assert "a submission needs five seeds; train 3 more" in shown.stderr


@pytest.mark.slow
def test_a_stored_result_is_used_until_weights_or_candidates_change(runs: Path, tmp_path: Path):
    words = ["evaluate", runs / "runs" / "seed0", "--protocol", "tgb", "--device", "cpu", "--json", "--candidates"]
    first = json.loads(titer(*words, runs / "data"))
    assert first["test_mrr"]["standard_deviation"] is None
    assert json.loads(titer(*words, runs / "data"))["runs"] == first["runs"]
    dataset = Run(runs / "runs" / "seed0").dataset
    for split in ("valid", "test"):
        sets = {key: np.array([0, 1, 2]) for key in exclusion_sets(dataset, split, lambda step: 1900 + step)}
        dump_candidates(tmp_path / candidate_file("tkgl-smallpedia", split), sets)
    changed = json.loads(titer(*words, tmp_path))
    assert changed["runs"][0]["test"]["candidates"] == "listed"
    assert changed["test_mrr"]["mean"] > first["test_mrr"]["mean"]


@pytest.mark.slow
def test_runs_that_differ_in_more_than_seeds_are_rejected(runs: Path, tmp_path: Path):
    dataset = load_dataset(runs / "data")
    train(dataset, SMALL_CONFIGS["recurrency"], tmp_path / "a")
    train(dataset, SMALL_CONFIGS["path_mixture"], tmp_path / "b")
    words = ["evaluate", tmp_path, "--protocol", "tgb", "--candidates", runs / "data"]
    assert "only seeds may differ" in str(invoke(*words).exception)


@pytest.mark.slow
def test_what_is_missing_is_named(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TITER_CACHE", str(tmp_path))
    error = str(invoke("evaluate", runs / "runs" / "seed0", "--protocol", "tgb").exception)
    assert "tkgl-smallpedia_val_ns.pkl: no such file; run titer data download tkgl-smallpedia" in error
    assert "has none in it" in str(invoke("evaluate", tmp_path, "--protocol", "tgb").exception)
    assert "unknown --protocol 'tbg'" in str(invoke("evaluate", runs / "runs" / "seed0", "--protocol", "tbg").exception)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--split", "test"), "--split"),
        (("--filter", "raw", "--out", "x.csv"), "--filter, --out"),
        (("--set", "model.beam_size=2", "--results", "x"), "--set, --results"),
        (("--no-baseline",), "--baseline"),
    ],
)
def test_options_that_the_protocol_fixes_are_refused(tmp_path: Path, words: tuple[str, ...], named: str):
    error = str(invoke("evaluate", tmp_path, "--protocol", "tgb", *words).exception)
    assert error == f"--protocol tgb fixes how runs are evaluated; leave out {named}"
