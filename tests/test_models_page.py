"""The page about models: it names all of them, and the model that it adds is a model like any other."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any, ClassVar

import pytest

from models.cases import ModelCase
from pages import Reader
from titer.models.registry import BUILT_IN, register

PAGE = Path(__file__).parents[1] / "docs" / "models.md"


def model_of_the_page() -> Any:
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert code is not None
    names: dict[str, Any] = {"__name__": "echo_model"}
    exec(code[1], names)
    return register(names["Echo"])


model_of_the_page()


class TestTheModelOfThePage(ModelCase):
    name = "echo"
    training: ClassVar = {"epochs": 2, "batch_size": 64, "learning_rate": 0.05}
    least_mrr = 0.4
    shares_sum_to_one = True


class Author(Reader):
    """A reader who installs what the page says without touching anybody's environment."""

    def text(self, block: str) -> None:
        """What pip does with the package: its entry points stand beside its module, and Python finds both."""
        assert block == "pip install --editable .\n"
        project = tomllib.loads((self.desk / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        points = project["entry-points"]["titer.models"]
        about = self.desk / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        )
        lines = [f"{name} = {place}" for name, place in points.items()]
        (about / "entry_points.txt").write_text("\n".join(["[titer.models]", *lines, ""]))
        path = [str(self.desk), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.environment["PYTHONPATH"] = os.pathsep.join(path)


@pytest.mark.slow
def test_every_block_of_the_page_works_and_prints_what_is_shown(tmp_path: Path):
    author = Author(tmp_path, port="0")
    author.read(PAGE)
    assert (author.desk / "echo.html").stat().st_size > 10_000


def test_the_page_names_every_model():
    page = PAGE.read_text(encoding="utf-8")
    rows = "\n".join(line for line in page.splitlines() if line.startswith("| `"))
    assert set(BUILT_IN) <= set(re.findall(r"`(\w+)`", rows))
