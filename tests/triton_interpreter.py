"""Where tests of Triton kernels run: on a GPU, or in Triton's interpreter on the CPU.

Tests of kernels have ``kernel`` in their names, are marked with ``needs_kernels``, and put tensors on
``KERNEL_DEVICE``. ``test_kernels.py`` runs all of them in the interpreter.
"""

import os
from importlib.util import find_spec

import pytest
import torch

IS_INTERPRETER = os.environ.get("TRITON_INTERPRET") == "1"
HAS_TRITON = find_spec("triton") is not None
HAS_GPU = torch.cuda.is_available()
KERNEL_DEVICE = "cuda" if HAS_GPU and not IS_INTERPRETER else "cpu"

needs_gpu = pytest.mark.skipif(not HAS_GPU or IS_INTERPRETER, reason="needs a GPU")
needs_kernels = pytest.mark.skipif(
    not (HAS_TRITON and (HAS_GPU or IS_INTERPRETER)), reason="needs Triton, and a GPU or TRITON_INTERPRET=1"
)
