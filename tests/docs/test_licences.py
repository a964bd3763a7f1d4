"""The page of licences lists what users install."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOR_DEVELOPERS = {"dev", "docs", "oracles"}


def test_every_direct_dependency_has_a_licence():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: needed for name, needed in project["optional-dependencies"].items() if name not in FOR_DEVELOPERS}
    required = [*project["dependencies"], *(text for needed in extras.values() for text in needed)]
    names = {re.split(r"[\[<>=~!; ]", text)[0].lower() for text in required}
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| (\S+) \| (.+?) \|", page, re.MULTILINE))
    assert names <= set(listed)
    assert not [name for name, licence in listed.items() if licence == "see the package"]
