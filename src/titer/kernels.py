"""Whether Triton kernels can be used. Each kernel has a reference version in torch that computes the same."""

from functools import cache
from importlib.util import find_spec


@cache
def triton_is_installed() -> bool:
    """Return whether Triton is installed, which compiles the kernels."""
    return find_spec("triton") is not None
