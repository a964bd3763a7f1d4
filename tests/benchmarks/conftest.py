"""Import scripts of ``benchmarks``, as ``python benchmarks/render.py`` does."""

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = str(Path(__file__).parents[2] / "benchmarks")

# The folder does not stay on the path: other scripts in it have the names of packages of tests.
sys.path.insert(0, FOLDER)
for name in ("action_weights", "generated_facts", "published_tables", "recipes", "render", "tgb_files"):
    importlib.import_module(name)
sys.path.remove(FOLDER)

from rendering.files import Measurements  # noqa: E402 - importable once the scripts are


@pytest.fixture(scope="session")
def measured() -> Measurements:
    """Return all result files."""
    return Measurements.load()
