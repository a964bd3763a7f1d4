"""Generated facts have the shape of real event data, and costs are rendered from files."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from generated_facts import NUM_RELATIONS, NUM_STEPS, generated_facts
from rendering.files import BENCHMARKS, Measurements
from rendering.scale import memory_table, scale_picture, scale_table


@pytest.fixture(scope="module")
def facts():
    return generated_facts(30_000, 2000)


def test_facts_are_as_many_as_asked_for_and_in_order_of_time(facts):
    assert len(facts) == 30_000
    assert np.all(np.diff(facts.time) >= 0)
    assert (facts.time.min(), facts.time.max() < NUM_STEPS) == (0, True)
    assert max(facts.subject.max(), facts.object.max()) < 2000
    assert facts.relation.max() < NUM_RELATIONS
    assert generated_facts(30_000, 2000) == facts
    assert generated_facts(30_000, 2000, seed=1) != facts


def test_few_entities_have_most_facts_and_many_have_few(facts):
    counts = np.sort(np.bincount(np.concatenate([facts.subject, facts.object]), minlength=2000))[::-1]
    assert counts[:20].sum() > 0.2 * counts.sum()
    assert 0 < np.median(counts) < 0.3 * counts.mean() * 2


def test_facts_repeat_in_series_many_of_them_in_bursts(facts):
    triples = np.stack([facts.subject, facts.relation, facts.object], axis=1)
    _, series, counts = np.unique(triples, axis=0, return_inverse=True, return_counts=True)
    assert (counts == 1).mean() > 0.3
    assert counts[series.reshape(-1)].mean() > 10
    order = np.lexsort((facts.time, series.reshape(-1)))
    same = np.diff(series.reshape(-1)[order]) == 0
    gaps = np.diff(facts.time[order])[same]
    assert (gaps <= 3).mean() > 0.3
    assert (gaps > 30).mean() > 0.05


def test_new_entities_appear_in_the_course_of_time(facts):
    late = facts.time >= NUM_STEPS // 2
    before = {*facts.subject[~late].tolist(), *facts.object[~late].tolist()}
    after = {*facts.subject[late].tolist(), *facts.object[late].tolist()}
    assert len(after - before) > 0.1 * len(after)


def row(facts: int, cost: float) -> dict:
    stage = {"seconds": cost, "cpu_seconds": cost, "private_gigabytes": 1.26, "resident_gigabytes": 2.0}
    index = {"history_cpu_seconds": cost, "pairs_cpu_seconds": 2 * cost, "bytes_per_fact": 300.4, **stage}
    return {"facts": facts, "entities": 10, "import": {"facts_cpu_seconds": cost, **stage}, "index": index}


def test_costs_are_per_fact_with_the_exponent_of_their_growth():
    measured = Measurements({}, scale={"b": row(10_000, 0.4), "a": row(1000, 0.02)})
    lines = scale_table(measured)
    assert lines[2].startswith("| 1,000 | 10 | 20.00 | 20.00 | 40.00 | 300 | – |")
    assert lines[3].startswith("| 10,000 | 10 | 40.00 | 40.00 | 80.00 | 300 | – |")
    assert lines[4] == "| growth |  | n^1.30 | n^1.30 | n^1.30 |  |  |  | – | – |"  # log10(0.4 / 0.02)
    assert memory_table(measured)[2] == "| 1,000 | 1.3 GB (2.0) | 1.3 GB (2.0) | – | – | – |"
    assert ElementTree.fromstring(scale_picture(measured)).tag.endswith("svg")
    assert scale_table(Measurements({})) == []


def test_the_growth_of_queries_is_that_of_those_of_all_facts():
    stages = [{"train": {"queries": 20, "queries_cpu_seconds": cost}} for cost in (0.02, 0.04)]
    rows = {name: row(facts, 1.0) | stage for name, facts, stage in zip("ab", (1000, 10_000), stages, strict=True)}
    lines = scale_table(Measurements({}, scale=rows))
    assert lines[3].endswith("| – | – | 2.0 | – |")
    assert lines[4].endswith("|  |  |  | n^1.30 | – |")  # ten times as many queries, each for twice the time
    assert "training, ms/query" in scale_picture(Measurements({}, scale=rows))


@pytest.mark.slow
def test_the_script_measures_stages_in_processes_and_writes_a_file(tmp_path: Path):
    command = [sys.executable, str(BENCHMARKS / "scale.py"), "--facts", "2e3", "--entities", "100"]
    command += ["--out", str(tmp_path), "--folder", str(tmp_path), "--skip", "train", "forecast"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    (result,) = tmp_path.iterdir()
    measured = json.loads(result.read_text())
    assert (result.name, measured["facts"], measured["entities"]) == ("2000-100.json", 2000, 100)
    for stage in ("generate", "import", "index", "open"):
        assert 0 < measured[stage]["private_gigabytes"] <= measured[stage]["resident_gigabytes"] < 3
    assert scale_table(Measurements({}, scale={"one": measured}))
