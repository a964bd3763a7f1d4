"""How OpenMP threads, with which torch computes on a CPU, wait for each other."""

import os
import sys

SPIN_COUNT_VARIABLE = "GOMP_SPINCOUNT"
"""Environment variable of GNU OpenMP: how often a waiting thread looks for work before it releases its core."""
SPIN_COUNT = 500
"""A few microseconds. By default it is milliseconds, in which no other process can use the core."""


def limit_spinning() -> None:
    """Let waiting threads soon release their cores, unless the user decides or OpenMP is loaded already."""
    if "torch" not in sys.modules and "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault(SPIN_COUNT_VARIABLE, str(SPIN_COUNT))


def spinning_is_limited() -> bool:
    """Return whether waiting threads soon release their cores, as far as is known."""
    return sys.platform == "linux" and os.environ.get(SPIN_COUNT_VARIABLE) == str(SPIN_COUNT)
