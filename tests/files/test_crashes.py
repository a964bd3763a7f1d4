"""A command that is killed before any of its operations on files can be repeated.

A sample of the operations is tried here, and all of them by ``make campaigns``.
"""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "campaigns" / "kill_points.py"


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("case", ["train", "train-overwrite", "import", "import-overwrite"])
def test_the_next_command_works_after_a_kill_before_any_operation(case: str):
    result = subprocess.run([sys.executable, str(SCRIPT), case, "--count", "4"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "4 kills, 0 problems" in result.stdout
