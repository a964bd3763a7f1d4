import os
import sys

import pytest
import torch

from titer.errors import ConfigError
from titer.training.device import ALLOCATOR, choose_device, peak_memory


def pretend(monkeypatch: pytest.MonkeyPatch, gpus: int) -> None:
    monkeypatch.setenv(ALLOCATOR, "")  # restored after the test
    monkeypatch.delenv(ALLOCATOR)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)


@pytest.mark.parametrize(("gpus", "chosen"), [(0, "cpu"), (1, "cuda"), (4, "cuda")])
def test_auto_uses_a_gpu_if_there_is_one(monkeypatch: pytest.MonkeyPatch, gpus: int, chosen: str):
    pretend(monkeypatch, gpus)
    assert choose_device() == choose_device("auto") == torch.device(chosen)
    assert choose_device("cpu") == torch.device("cpu")


@pytest.mark.skipif(sys.platform != "linux", reason="PyTorch supports this on Linux")
def test_memory_of_a_gpu_grows_in_one_piece_unless_the_user_set_something_else(monkeypatch: pytest.MonkeyPatch):
    pretend(monkeypatch, 1)
    choose_device("cpu")
    assert ALLOCATOR not in os.environ
    choose_device("auto")
    assert os.environ[ALLOCATOR] == "expandable_segments:True"
    monkeypatch.setenv(ALLOCATOR, "max_split_size_mb:64")
    choose_device("cuda")
    assert os.environ[ALLOCATOR] == "max_split_size_mb:64"


@pytest.mark.parametrize(
    ("gpus", "available", "missing"),
    [(0, [], ["cuda", "cuda:0"]), (1, ["cuda", "cuda:0"], ["cuda:1"]), (2, ["cuda", "cuda:1"], ["cuda:2", "cuda:9"])],
)
def test_only_gpus_of_this_machine_are_accepted(
    monkeypatch: pytest.MonkeyPatch, gpus: int, available: list[str], missing: list[str]
):
    pretend(monkeypatch, gpus)
    for name in available:
        assert choose_device(name) == torch.device(name)
    for name in missing:
        with pytest.raises(ConfigError, match=f"device '{name}' is not available"):
            choose_device(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [("gpu", "unknown device 'gpu'"), ("", "unknown device ''"), ("mps", "unsupported device 'mps'")],
)
def test_other_names_are_rejected_with_the_known_ones(name: str, message: str):
    with pytest.raises(ConfigError, match=f"{message}; use cpu, cuda, cuda:N or auto"):
        choose_device(name)


def test_peak_memory_is_measured_on_gpus_only(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "max_memory_reserved", lambda device: 1_234_567_890)
    assert peak_memory(torch.device("cpu")) == {}
    assert peak_memory(torch.device("cuda", 0)) == {"gpu_gigabytes": 1.235}
