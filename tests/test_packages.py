"""Each room of the house uses only the ones above it, in the order in which docs/architecture.md shows them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import titer

HOUSE = Path(titer.__file__).parent
PAGE = HOUSE.parents[1] / "docs" / "architecture.md"


def rooms() -> list[str]:
    return re.findall(r"^\| `(\w+)/` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def used_by(module: Path) -> Iterator[str]:
    """The rooms from which a module imports anything, wherever in it."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        yield from (name.split(".")[1] for name in names if name.startswith("titer."))


def test_the_page_shows_every_room():
    assert sorted(rooms()) == sorted(path.parent.name for path in HOUSE.glob("*/__init__.py"))


@pytest.mark.parametrize("room", rooms())
def test_a_room_uses_only_those_above_it(room: str):
    below = rooms()[rooms().index(room) + 1 :]
    modules = (HOUSE / room).rglob("*.py")
    assert [(module.name, used) for module in modules for used in used_by(module) if used in below] == []
