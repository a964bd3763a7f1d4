"""Generated folders of the sizes of TGB, and the table of their time and memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rendering.files import BENCHMARKS, Measurements
from rendering.tgb import tgb_table
from tgb_files import write_candidates, write_edges
from titer.data.tgb.catalogue import TGB_BENCHMARKS
from titer.data.tgb.pickles import read_candidate_file
from titer.data.tgb.reader import read_tgb, tgb_sizes
from titer.evaluation.task import EvaluationTask


@pytest.mark.parametrize("name", list(TGB_BENCHMARKS))
def test_generated_data_have_the_sizes_of_a_dataset(tmp_path: Path, name: str):
    benchmark = TGB_BENCHMARKS[name]
    scale = 20_000 / benchmark.facts
    write_edges(benchmark, tmp_path, scale)
    dataset = read_tgb(tmp_path, static=benchmark.has_static)
    dated = dataset.facts[dataset.facts.time > 0] if benchmark.has_static else dataset.facts
    assert len(dated) == 20_000
    assert tgb_sizes(dataset).entities == int(scale * benchmark.entities)
    assert benchmark.relations * 0.8 < tgb_sizes(dataset).relations <= benchmark.relations
    assert dataset.axis.unit == {"tkgl-smallpedia": "year", "tkgl-wikidata": "integer"}.get(name, "day")
    task = EvaluationTask(dataset, "test", max_queries=100)
    count = write_candidates(task, tmp_path / "x.pkl", 7 if benchmark.num_negatives else None)
    assert len(read_candidate_file(tmp_path / "x.pkl").keys) == count <= 100


@pytest.mark.slow
def test_the_script_trains_and_evaluates_and_writes_a_file(tmp_path: Path):
    command = [
        sys.executable,
        str(BENCHMARKS / "tgb_sizes.py"),
        "tkgl-smallpedia",
        "--scale",
        "0.002",
        "--device",
        "cpu",
    ]
    command += ["--trained", "600", "--queries", "50", "--out", str(tmp_path / "out"), "--folder", str(tmp_path)]
    command += ["--set", "model.dim=8"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    measured = json.loads((tmp_path / "out" / "path_mixture-tkgl-smallpedia.json").read_text())
    assert measured["evaluation"]["queries"] >= 50
    assert measured["training"]["queries"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    (row,) = tgb_table(Measurements({}, tgb=[measured]))[2:]
    assert row.startswith("| tkgl-smallpedia | 1,100 | 94 | `path_mixture` |")
    assert tgb_table(Measurements({})) == []
