"""A command that is killed before any of its operations on files can be repeated.

A sample of the operations is tried here, and all of them by ``make campaigns``.
"""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "campaigns" / "kill_points.py"


CASES = "train", "train-overwrite", "import", "import-overwrite"


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_next_command_works_after_a_kill_before_any_operation():
    result = subprocess.run([sys.executable, str(SCRIPT), *CASES, "--count", "16"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "kills: " + ", ".join(f"{case} 4" for case in sorted(CASES)) in result.stdout
    assert "16 kills, 0 problems" in result.stdout
