"""Runs the tests of Triton kernels on a GPU, or with Triton's interpreter on the CPU.

Triton reads ``TRITON_INTERPRET`` when it is imported, so the interpreter needs a process of its own. A file with tests
of kernels marks them with ``needs_kernels``, puts their tensors on ``KERNEL_DEVICE``, and has one more test that calls
``run_interpreted`` for the same file:

    @needs_kernels
    def test_kernel_adds():
        assert torch.equal(kernel(torch.ones(3, device=KERNEL_DEVICE)), ...)

    @needs_interpreter
    def test_the_interpreter_runs_the_kernels():
        run_interpreted(Path(__file__), "test_kernel")
"""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

TESTS = Path(__file__).parent
IS_INTERPRETER = os.environ.get("TRITON_INTERPRET") == "1"
HAS_TRITON = find_spec("triton") is not None
HAS_GPU = torch.cuda.is_available()
KERNEL_DEVICE = "cuda" if HAS_GPU and not IS_INTERPRETER else "cpu"

needs_gpu = pytest.mark.skipif(not HAS_GPU or IS_INTERPRETER, reason="needs a GPU")
needs_kernels = pytest.mark.skipif(
    not (HAS_TRITON and (HAS_GPU or IS_INTERPRETER)), reason="needs Triton, and a GPU or TRITON_INTERPRET=1"
)
needs_interpreter = pytest.mark.skipif(not HAS_TRITON or IS_INTERPRETER, reason="needs Triton, outside the interpreter")


def run_interpreted(file: Path, expression: str) -> None:
    """Run tests of a file in a new pytest process with Triton's interpreter, and fail if one fails or is skipped.

    The process reads neither the configuration nor ``conftest.py``, so that it needs no plugin of pytest.

    Args:
        file: The file with the tests, which use no fixture of another file.
        expression: Selects the tests, as pytest's option ``-k`` does.
    """
    # The settings of a surrounding pytest process, such as a worker of pytest-xdist, are not for this one.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {
        "TRITON_INTERPRET": "1",
        "CUDA_VISIBLE_DEVICES": "",  # the interpreter must also work where there is no GPU
        "OMP_NUM_THREADS": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": os.pathsep.join([str(TESTS.parent / "src"), str(TESTS), os.environ.get("PYTHONPATH", "")]),
    }
    plain = ["-c", os.devnull, "--rootdir", str(TESTS), "--noconftest", "--import-mode=importlib"]
    command = [sys.executable, "-m", "pytest", "-q", *plain, "-p", "no:cacheprovider", str(file), "-k", expression]
    result = subprocess.run(command, cwd=TESTS.parent, env=environment, capture_output=True, text=True, check=False)
    summary = result.stdout.strip().rpartition("\n")[2]
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    assert re.search(r"\b[1-9]\d* passed", summary), summary
    assert not re.search(r"skipped|failed|error|xfailed", summary), summary
