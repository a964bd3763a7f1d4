"""The locked packages have checksums, fit the requirements, and come from no particular address."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def required(extra: str) -> list[Requirement]:
    """Return the direct requirements of titer with an extra, and of the extras that it names."""
    found: list[Requirement] = []
    for text in PROJECT["optional-dependencies"][extra]:
        one = Requirement(text)
        found += [each for other in one.extras for each in required(other)] if one.name == "titer" else [one]
    return [*(Requirement(text) for text in PROJECT["dependencies"]), *found]


@pytest.mark.parametrize("name", ["dev", "oracles"])
def test_every_requirement_is_locked_with_checksums(name: str):
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    locked = dict(re.findall(r"^([\w.-]+)==([^ ;\n]+)", text, re.MULTILINE))
    entries = re.split(r"^(?=[\w])", text, flags=re.MULTILINE)[1:]
    assert len(entries) == len(locked)
    assert all("--hash=sha256:" in entry for entry in entries)
    for requirement in [*required("dev"), *(required("oracles") if name == "oracles" else [])]:
        version = locked[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version, prereleases=True), requirement
    assert "://" not in text
    assert not [package for package in locked if package.startswith(("nvidia", "cuda"))]
