"""Where a result comes from: the source code, the software and the hardware that made it."""

import functools
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from titer import __version__
from titer.counted import counted

PACKAGES = ("torch", "numpy", "triton", "pyarrow", "safetensors")
UNKNOWN = "unknown"
COMMIT_VARIABLE = "TITER_COMMIT"
"""Environment variable with the commit of a copy of the sources. It takes precedence over a repository."""
PACKAGE = Path(__file__).parents[1]


def provenance(device: torch.device) -> dict[str, Any]:
    """Return the part of a result file that says where and when it was made.

    Args:
        device: The device that the model ran on.

    Returns:
        Date (UTC), commit, whether the sources differed from it, hardware and versions.
    """
    commit, modified = source()
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit,
        "modified": modified,
        "hardware": hardware(device),
        "versions": versions(),
    }


def source(package: Path = PACKAGE) -> tuple[str, bool | None]:
    """Return the commit of the package's sources, and whether they have changes that are not committed.

    Args:
        package: The folder of the package.

    Returns:
        The commit and whether there are changes, when a process first asks. With the environment variable
        ``TITER_COMMIT``, its value and None. Without a repository, ``unknown`` and None.
    """
    if given := os.environ.get(COMMIT_VARIABLE):
        return given, None
    return _repository(package)


@functools.cache  # a process has loaded its sources: later changes do not affect what it computes
def _repository(package: Path) -> tuple[str, bool | None]:
    # An installed wheel may lie inside of another repository, which does not track it.
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is not None:
        commit = _git(package, "rev-parse", "HEAD")
        if commit is not None:
            return commit, bool(_git(package, "status", "--porcelain", "--", "."))
    return UNKNOWN, None


def hardware(device: torch.device) -> str:
    """Return the name of the hardware.

    Args:
        device: The device that the model ran on.
    """
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.machine()} CPU, {counted(torch.get_num_threads(), 'thread')}"


def versions() -> dict[str, str]:
    """Return the versions of titer, Python and the packages that affect the numbers."""
    found = {"titer": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _git(folder: Path, *words: str) -> str | None:
    """Return the output of a git command in a folder, or None if it fails."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
