"""The page of benchmark results is rendered from the result files only."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
METRICS = ("mrr", "hits_at_1", "hits_at_3", "hits_at_10")


@pytest.fixture
def render(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, writing into a temporary folder."""
    specification = importlib.util.spec_from_file_location("render", BENCHMARKS / "render.py")
    assert specification is not None
    assert specification.loader is not None
    render = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(render)
    monkeypatch.setattr(render, "PAGE", tmp_path / "RESULTS.md")
    monkeypatch.setattr(render, "PICTURE", tmp_path / "inductive.svg")
    return render


def result(label: str, value: float, seed: int = 0, **more: Any) -> dict[str, Any]:
    metrics = {metric: value * (i + 1) for i, metric in enumerate(METRICS)}
    return {
        "label": label,
        "split": "test",
        "seed": seed,
        "metrics": metrics,
        "conventions": {"paper": metrics, "realistic": metrics},
        "entities": {"unseen": dict.fromkeys(METRICS, value / 2)},
        "hardware": "a computer",
        "seconds": {"training": 7.0},
        "command": f"titer reproduce {label}",
        **more,
    }


def cells(page: list[str], first: str) -> list[str]:
    (line,) = (line for line in page if line.startswith(f"| {first} |"))
    return line.strip("| ").split(" | ")


def test_the_page_and_its_picture_are_those_rendered_from_the_results(render: ModuleType, tmp_path: Path):
    render.main()
    for name in ("RESULTS.md", "inductive.svg"):
        assert (tmp_path / name).read_text() == (BENCHMARKS / name).read_text(), f"{name} is not up to date"


def test_the_main_table_has_the_papers_figures_beside_ours_and_no_row_without_results(render: ModuleType):
    rows = {
        "cygnet/icews14": [result("cygnet/icews14", 0.1, seed) for seed in (0, 1)],
        "titer/yago": [result("titer/yago", 0.2)],
        "titer/yago-first": [result("titer/yago-first", 0.01)],
    }
    found = render.main_table(rows, "hits_at_1")
    assert cells(found, "`cygnet`") == ["`cygnet`", "20.00 ± 0.00", "23.69", "–", "15.90", "–", "29.06", "–", "45.36"]
    assert cells(found, "`titer`")[-2:] == ["40.00", "84.89"]
    assert len(found) == 4


def test_notes_have_the_label_of_their_result(render: ModuleType):
    rows = {"renet/wiki": [result("renet/wiki", 0.1, note="ran out of time")], "titer/wiki": [result("titer/wiki", 1)]}
    assert render.notes(rows) == ["- renet/wiki: ran out of time"]


def test_every_result_has_its_command_and_its_cost(render: ModuleType):
    rows = {"renet/wiki": [result("renet/wiki", 0.5, gpu_gigabytes=4.52)], "titer/wiki": [result("titer/wiki", 0.6)]}
    found = render.commands(rows)
    took = ["50.00", "a computer", "7", "4.5 GB", "`titer reproduce renet/wiki`"]
    assert cells(found, "renet/wiki, seed 0")[1:] == took
    assert cells(found, "titer/wiki, seed 0")[4] == "–"


def test_sizes_are_those_counted_beside_the_papers(render: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(render, "COUNTS", tmp_path)
    size = {"parameters": 5_000_000, "multiply_adds_per_step": 1_000_000, "multiply_adds_per_question": 2_000_000}
    nothing = {"parameters": 0, "multiply_adds_per_step": None, "multiply_adds_per_question": 0}
    for model, counted in (("cygnet", size), ("tango_tucker", size), ("recurrency", nothing)):
        (tmp_path / f"{model}-icews14.json").write_text(json.dumps(counted))
    found = render.size_table()
    assert cells(found, "`cygnet`, ICEWS14")[1:] == ["5.000 M", "1.000 M", "2.000 M", "8.568 M", "8.554 M"]
    assert cells(found, "`tango_tucker`, ICEWS14")[1:] == ["5.000 M", "1.000 M", "2.000 M", "–", "–"]
    assert cells(found, "`xerte`, ICEWS14")[1:] == ["–", "–", "–", "2.927 M", "225.895 M"]
    assert not any("recurrency" in line for line in found)


def test_the_picture_shows_every_model_with_results_and_the_line_of_the_random_walk(render: ModuleType):
    rows = {
        "titer/icews14": [result("titer/icews14", value) for value in (0.2, 0.4)],
        "cygnet/icews14": [result("cygnet/icews14", 0.1)],
        "random_walk/icews14": [result("random_walk/icews14", 0.12)],
        "titer/yago": [result("titer/yago", 0.9)],
    }
    picture = ElementTree.fromstring(render.inductive_picture(rows))
    assert re.fullmatch(r"\{.*svg\}svg|svg", picture.tag)
    words = [text for element in picture.iter() if element.tag.endswith("text") and (text := element.text)]
    assert words[:6] == ["cygnet", "5.0", "5.0", "titer", "15.0", "15.0"]
    assert {"random walk: MRR 6.0", "random walk: Hits@10 6.0"} <= set(words)
    widths = [
        float(element.get("width", "nan"))
        for element in picture.iter()
        if element.tag.endswith("rect") and element.get("height") == "12" and element.get("x") == "130"
    ]
    assert widths[2] == pytest.approx(3 * widths[0], rel=1e-3)
