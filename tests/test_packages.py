"""Each package imports only from those above it in the table of docs/architecture.md, and class names are unique."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import titer

SOURCE = Path(titer.__file__).parent
PAGE = SOURCE.parents[1] / "docs" / "architecture.md"


def packages() -> list[str]:
    """Return the packages in the order of the table."""
    first_section = PAGE.read_text(encoding="utf-8").partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)/` \|", first_section, re.MULTILINE)


def imported_modules(source: str) -> Iterator[str]:
    """Yield the full name of each module that a module imports anywhere, and of each name imported from a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_parts(source: str) -> set[str]:
    """Return the packages and top-level modules of titer that a module imports, public names by their own package."""
    parts = [name.split(".") for name in imported_modules(source)]
    names = {part[1] for part in parts if part[0] == "titer" and len(part) > 1}
    return {titer._MODULES[name].split(".")[1] if name in titer._MODULES else name for name in names}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import titer.report.report", {"report"}),
        ("from titer.report.report import write_report", {"report"}),
        ("from titer.report import report", {"report"}),
        ("from titer import report", {"report"}),
        ("from titer import drawing, Run", {"drawing", "runs"}),
        ("def f():\n    from titer.store import facts", {"store"}),
        ("import titerator.report\nfrom pathlib import Path", set()),
    ],
)
def test_every_form_of_import_is_found(source: str, expected: set[str]):
    assert imported_parts(source) == expected


def test_the_page_lists_every_package():
    assert sorted(packages()) == sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


@pytest.mark.parametrize("package", packages())
def test_a_package_imports_only_from_packages_above_it(package: str):
    below = {*packages()[packages().index(package) + 1 :], *(["api"] if package != "cli" else [])}
    modules = (SOURCE / package).rglob("*.py")
    found = {module.name: imported_parts(module.read_text(encoding="utf-8")) & below for module in modules}
    assert {module: parts for module, parts in found.items() if parts} == {}


def test_no_two_classes_share_a_name():
    modules: dict[str, list[str]] = defaultdict(list)
    for module in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(module.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                modules[node.name].append(str(module.relative_to(SOURCE)))
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}
