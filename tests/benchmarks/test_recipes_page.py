"""The page about TITer's recipes shows numbers of result files and of the paper only."""

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from titer.data.load import load_dataset

ROOT = Path(__file__).parents[2]
METRICS = ("mrr", "hits_at_1", "hits_at_3", "hits_at_10")


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("recipes_page")


def write(page: ModuleType, folder: Path, training: Any, mrr: float, **settings: Any) -> None:
    config = page.expected(training).to_dict()
    config["model"].update(settings)
    row = {"config": config, "conventions": {"paper": dict.fromkeys(METRICS, mrr)}}
    path = folder / f"{training.label.replace('/', '-')}-seed{training.seed}.json"
    path.write_text(json.dumps(row), encoding="utf-8")


def test_the_page_is_rendered_from_the_stored_results(page: ModuleType):
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.rendered(text, page.load()) == text, "run: python benchmarks/recipes_page.py"


def test_a_result_of_another_configuration_is_not_shown(page: ModuleType, tmp_path: Path):
    trainings = [one for one in page.recipes.trainings() if one.label == "titer/icews14-paper"]
    write(page, tmp_path, trainings[0], 0.4)
    write(page, tmp_path, trainings[1], 0.9, dropout=0.1)
    assert page.load(tmp_path) == {"titer/icews14-paper": [dict.fromkeys(METRICS, 0.4)]}


def test_the_walk_shows_what_every_change_is_worth(page: ModuleType, tmp_path: Path):
    walk = list(page.recipes.walk(0))
    write(page, tmp_path, page.recipes.Training("icews14", "paper", 0), 0.30)
    write(page, tmp_path, walk[0], 0.31)
    write(page, tmp_path, walk[1], 0.29)
    write(page, tmp_path, walk[3], 0.35)
    rows = [line.split(" | ") for line in page.walk_table(page.load(tmp_path))]
    assert len(rows) == 2 + len(page.recipes.WALK) + 2  # header and paper; the moving average
    shown = {row[0].strip("| "): (row[2], row[3].strip(" |")) for row in rows[2:]}
    assert shown["0"] == ("30.00", "–")
    assert shown["1"] == ("31.00", "+1.00")
    assert shown["2"] == ("29.00", "-2.00")
    assert shown["3"] == ("–", "–")
    assert shown["4"] == ("35.00", "–")


def test_the_gain_by_relative_time_is_relative(page: ModuleType, tmp_path: Path):
    write(page, tmp_path, page.recipes.Training("wiki", "released", 0), 0.6)
    static = page.recipes.Training("wiki", "released", 0, "-static", ("model.relative_time=false",))
    write(page, tmp_path, static, 0.5)
    assert "| +20.00 % | +18.51 % |" in "\n".join(page.time_table(page.load(tmp_path)))


def test_the_case_study_shows_the_paths_of_both(page: ModuleType, tmp_path: Path):
    path = {
        "facts": [
            {
                "subject": "a",
                "relation": "r",
                "object": "b",
                "time": "2018-10-16",
                "numbers": {"probability": 0.25, "beta": 0.5},
            }
        ]
    }
    case = {"unseen": ["Military (Comoros)"], "rank": 7, "paths": [path], "path_of_the_paper": {"place": 2, **path}}
    empty = {"unseen": [], "rank": None, "paths": [], "path_of_the_paper": None}
    file = tmp_path / "case_study.json"
    file.write_text(json.dumps({"cases": [case, *[empty] * 4]}), encoding="utf-8")
    lines = page.case_table(file)
    assert len(lines) == 2 + 5
    assert lines[2].startswith(
        "| Military (Comoros) †, Use conventional military force, Citizen (Comoros), 2018-10-17 |"
    )
    assert "| 0.46 | 7 | a, r, b, 2018-10-16 (π 0.25, β 0.50) | 2: π 0.25, β 0.50 |" in lines[2]
    assert lines[3].endswith("| 0.54 | – | – | – |")


def test_a_missing_marker_is_reported(page: ModuleType):
    with pytest.raises(SystemExit, match="markers of 'recipes' once, not 0 times"):
        page.rendered("# A page without tables", {})


@pytest.mark.real_data
def test_the_queries_and_paths_of_the_paper_are_facts_of_icews18(page: ModuleType, datasets_folder: Path):
    """Also the two whose printed relation is another one, with the next id."""
    dataset = load_dataset(datasets_folder / "ICEWS18")
    entities, relations = dataset.vocabulary.entities, dataset.vocabulary.relations
    known = set(dataset.test)
    for case in page.case_study.CASES:
        for fact in (case, *case.path):
            ids = entities.index(fact.subject), relations.index(fact.relation), entities.index(fact.object)
            assert (*ids, dataset.axis.step(fact.time)) in known
        for hop in case.path:
            assert not hop.printed or relations.index(hop.printed) == relations.index(hop.relation) + 1
