"""The page about models: its lists are complete, its claims hold, and its example is a model like any other."""

import inspect
import json
import os
import re
import tomllib
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import ClassVar

import pytest

from models.cases import ModelCase
from pages import Reader
from titer.models.base import Model
from titer.models.registry import BUILT_IN, model_class

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "models.md"


def define_example() -> None:
    """Run the module of the page, which registers its model."""
    code = re.search(r"```python\n(# edge_votes\.py\n.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert code is not None
    exec(code[1], {"__name__": "edge_votes"})


define_example()


class TestExample(ModelCase):
    name = "edge_votes"
    training: ClassVar = {"epochs": 2, "batch_size": 64, "learning_rate": 0.05}
    least_mrr = 0.4
    shares_sum_to_one = True


class Author(Reader):
    """A reader who installs the package of the page without changing the environment of the tests."""

    def text(self, block: str) -> None:
        """Do what pip does: write the entry points next to the module, and put both on Python's path."""
        assert block == "pip install --editable .\n"
        project = tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        points = project["entry-points"]["titer.models"]
        about = self.folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        )
        lines = [f"{name} = {place}" for name, place in points.items()]
        (about / "entry_points.txt").write_text("\n".join(["[titer.models]", *lines, ""]))
        path = [str(self.folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.environment["PYTHONPATH"] = os.pathsep.join(path)


@pytest.mark.slow
def test_every_block_of_the_page_runs_and_prints_what_is_shown(tmp_path: Path):
    author = Author(tmp_path, port="0")
    author.read(PAGE)
    assert (author.folder / "votes.html").stat().st_size > 10_000


def overview() -> dict[str, list[str]]:
    """Return the cells of every model in the table of the page."""
    lines = PAGE.read_text(encoding="utf-8").partition("\n## Overview\n")[2].partition("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    return {name: row for row in rows for name in re.findall(r"`(\w+)`", row[0])}


def test_the_table_has_every_model_and_whether_it_gives_evidence():
    rows = overview()
    assert set(rows) == set(BUILT_IN)
    for name, row in rows.items():
        assert row[3].split(":")[0] == ("yes" if model_class(name).explains() else "no"), name


def test_the_recommendations_follow_from_the_results():
    mrr: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    paths = (ROOT / "benchmarks" / "results").glob("*.json")
    results = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    sizes = [(result.get("gpu_gigabytes") or 0, result["label"]) for result in results]
    for name, gigabytes, label in (("xerte", 9.8, "xerte/icews18"), ("tirgn", 35.4, "tirgn/yago")):
        assert max(size for size in sizes if name in size[1]) == (pytest.approx(gigabytes, abs=0.05), label)
    for result in results:
        name, _, dataset = result["label"].partition("/")
        if name in BUILT_IN and dataset in ("icews14", "icews18", "wiki", "yago"):
            mrr[dataset][name].append(result["metrics"]["mrr"])
    assert len(mrr) == 4
    for by_model in mrr.values():
        order = sorted(by_model, key=lambda name: -mean(by_model[name]))
        assert order[0] == "path_mixture"
        assert 1 <= order.index("recurrency") <= 3


def test_the_table_of_methods_names_what_a_model_can_override():
    section = PAGE.read_text(encoding="utf-8").partition("\nMethods and attributes to override:\n")[2]
    names = re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE)
    assert names
    assert all(hasattr(Model, name) for name in names)
    hooks = {"score", "training_step", "prepare", "begin_epoch", "explain", "logits"}
    assert hooks <= set(names)


@pytest.mark.parametrize("name", sorted(set(BUILT_IN) - {"titer", "path_mixture"}))
def test_the_docstring_of_a_model_has_formula_reference_and_differences(name: str):
    text = inspect.getdoc(model_class(name)) or ""
    sections = dict(re.findall(r"^(\w[\w ]+):\n((?:    .*\n?|\n)+)", text, flags=re.MULTILINE))
    assert re.search(r"\$\$.+\$\$", sections["Formula"], flags=re.DOTALL)
    assert re.search(r"\b(19|20)\d\d\b", sections["Reference"])
    if name != "random_walk":  # a baseline without a publication of its own
        assert re.search(r"^    - ", sections["Differences from the publication"], flags=re.MULTILINE)
