"""List the licences of all packages that titer and its extras install, from the metadata of the installed packages.

    python docs/list_licences.py > docs/licences.md

Packages that are only for development, tests and this documentation are left out.
"""

import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
FOR_DEVELOPERS = {"dev", "docs", "oracles"}
LONGEST = 60
HEADER = """\
# Licences of dependencies

titer is licensed under the Apache License 2.0. The packages below are installed with it, and are not part of it.
Builds of PyTorch for NVIDIA GPUs also install packages of NVIDIA, which have terms of their own. The list follows from
the metadata of the packages on Linux; `python docs/list_licences.py > docs/licences.md` renews it.

| package | licence | installed with |
|---|---|---|"""


def main() -> None:
    """Print the page."""
    found: dict[str, set[str]] = {}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"titer": project["dependencies"], **project["optional-dependencies"]}
    for group, requirements in groups.items():
        if group not in FOR_DEVELOPERS:
            for text in requirements:
                collect(Requirement(text), group, found)
    print(HEADER)
    for name in sorted(found):
        # What titer itself needs is installed with every extra.
        groups_of = ["titer"] if "titer" in found[name] else [f"`titer[{group}]`" for group in sorted(found[name])]
        print(f"| {name} | {licence(distribution(name))} | {', '.join(groups_of)} |")


def collect(requirement: Requirement, group: str, found: dict[str, set[str]]) -> None:
    """Add a package and everything that it requires."""
    name = canonicalize_name(requirement.name)
    extras = requirement.extras or {""}
    if group in found.get(name, set()) and not requirement.extras:
        return
    try:
        package = distribution(name)
    except PackageNotFoundError:
        sys.exit(f"{name} is not installed; run make oracles, or pip install --editable '.[dev]'")
    found.setdefault(name, set()).add(group)
    for text in package.requires or []:
        needed = Requirement(text)
        if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
            collect(needed, group, found)


def licence(package: Distribution) -> str:
    """Return the licence that a package states, as an SPDX expression, a classifier or a short text."""
    about: Any = package.metadata  # an e-mail message, although its type does not say so
    if expression := about.get("License-Expression"):
        return expression
    classifiers = [text for text in about.get_all("Classifier") or [] if text.startswith("License :: ")]
    if names := [text.rpartition(" :: ")[2] for text in classifiers if not text.endswith("OSI Approved")]:
        return ", ".join(names)
    text = (about.get("License") or "").strip()
    return text if text and len(text) <= LONGEST and "\n" not in text else "see the package"


if __name__ == "__main__":
    main()
