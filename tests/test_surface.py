"""What the package shows to the outside, and what it needs."""

import subprocess
import sys
from pathlib import Path

import titer

SOURCE = Path(titer.__file__).parents[1]

# Not present on a bare GPU machine: training, evaluation and forecasting must do without them.
ABSENT = (
    "pooch",
    "platformdirs",
    "pydantic",
    "fastapi",
    "uvicorn",
    "sqlalchemy",
    "psycopg",
    "optuna",
    "ray",
    "pandas",
    "sklearn",
)


def test_every_exported_name_exists_and_says_what_it_is():
    for name in titer.__all__:
        value = getattr(titer, name)
        if name != "__version__":
            assert value.__doc__, name
    assert set(titer.__all__) == {*titer._HOME, "__version__"}
    assert set(dir(titer)) == set(titer.__all__)


def test_a_wrong_name_is_an_attribute_error():
    assert not hasattr(titer, "Titer")


def test_importing_titer_does_not_import_torch():
    code = "import sys, titer; print(any(name in sys.modules for name in ('torch', 'numpy', 'pyarrow')))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


def test_training_and_evaluation_run_from_source_without_optional_packages(tmp_path: Path):
    blocked = f"""
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {ABSENT!r}:
            raise ImportError(name + " is not here")
sys.meta_path.insert(0, Blocker())
sys.path.insert(0, {str(SOURCE)!r})
from titer.cli.main import app
run = {str(tmp_path / "run")!r}
for words in (
    ["train", "small-world", "--model", "recurrency", "--out", run],
    ["evaluate", run],
    ["forecast", run, "Aldoria", "accuse"],
    ["data", "info", "small-world"],
):
    app(words, standalone_mode=False)
"""
    result = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
