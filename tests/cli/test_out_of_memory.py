"""Commands that need more memory than there is."""

import re
from collections.abc import Callable

import numpy as np
import pytest
import torch

from titer.cli import main


def on_gpu() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8 GiB")


def in_python() -> None:
    raise MemoryError


@pytest.mark.parametrize(
    ("command", "size"),
    [
        (lambda: torch.empty(10**15), ": cannot allocate 4000000000000000 bytes"),
        (lambda: np.ones(10**15), r": cannot allocate [\d.]+ PiB"),
        (on_gpu, r": cannot allocate 2\.00 GiB"),
        (in_python, ""),
    ],
)
def test_the_error_says_how_much_is_missing_and_what_needs_less(
    command: Callable, size: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    monkeypatch.setattr(main, "app", command)
    with pytest.raises(SystemExit) as stopped:
        main.main()
    assert stopped.value.code == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert re.match(f"error: out of memory{size}; smaller batches need less: .*batch_size=N", error)


def test_other_errors_of_pytorch_are_not_hidden(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(main, "app", lambda: torch.ones(2) @ torch.ones(3))
    with pytest.raises(RuntimeError, match="size"):
        main.main()
