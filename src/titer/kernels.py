"""Whether kernels of our own can be used. Each has a plain version that computes the same."""

from functools import cache
from importlib.util import find_spec


@cache
def triton_is_installed() -> bool:
    """Whether kernels for GPUs can be compiled."""
    return find_spec("triton") is not None
