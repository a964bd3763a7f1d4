"""The number of CPU threads: chosen by a rule, unless the user says how many."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from commands import titer
from titer import threads
from titer.errors import ConfigError
from titer.threads import (
    ENTITIES_PER_THREAD,
    ENTITIES_PER_TRAINING_THREAD,
    MAX_THREADS,
    idle_cores,
    side_by_side,
    suitable_threads,
    use_threads,
    use_training_threads,
)


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("TITER_THREADS", raising=False)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@given(entities=st.integers(0, 10**7), more=st.integers(0, 10**6), cores=st.integers(1, 256))
def test_more_entities_never_get_fewer_threads_and_cores_bound_them(entities: int, more: int, cores: int):
    found = suitable_threads(entities, cores)
    assert 1 <= found <= min(cores, MAX_THREADS)
    assert found <= suitable_threads(entities + more, cores)
    if entities < 2 * ENTITIES_PER_THREAD:
        assert found == 1


def test_few_entities_are_scored_by_one_thread():
    torch.set_num_threads(4)
    assert use_threads(ENTITIES_PER_THREAD) == 1
    assert torch.get_num_threads() == 1


def test_idle_cores_serve_many_entities_up_to_what_torch_is_set_to(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(threads, "idle_cores", lambda: 6)
    torch.set_num_threads(4)
    assert use_threads(3 * ENTITIES_PER_THREAD) == 3
    torch.set_num_threads(2)
    assert use_threads(100 * ENTITIES_PER_THREAD) == 2


def num_side_by_side(num_entities: int = 10) -> tuple[int, int]:
    """Return how many threads score side by side, and with how many threads each computes."""
    before = torch.get_num_threads()
    with side_by_side(num_entities) as number:
        found = number, torch.get_num_threads()
    assert torch.get_num_threads() == before
    return found


def test_batches_are_scored_side_by_side_on_the_cores_that_one_batch_does_not_use(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(threads, "idle_cores", lambda: 4)
    monkeypatch.setattr(threads, "usable_cores", lambda: 6)
    torch.set_num_threads(4)
    use_threads(ENTITIES_PER_THREAD)
    assert num_side_by_side() == (4, 1)  # what torch was set to
    use_threads(ENTITIES_PER_THREAD)
    assert num_side_by_side() == (4, 1)  # still known
    assert num_side_by_side(MAX_THREADS * ENTITIES_PER_THREAD + 1) == (1, 1)  # too many states
    torch.set_num_threads(8)
    use_threads(3 * ENTITIES_PER_THREAD)
    assert num_side_by_side(3 * ENTITIES_PER_THREAD) == (2, 3)  # three threads each, on six cores
    torch.set_num_threads(1)
    assert num_side_by_side() == (1, 1)  # changed by the caller


def test_optimisation_steps_use_idle_cores_earlier_than_scores_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(threads, "idle_cores", lambda: 4)
    monkeypatch.setattr(threads, "usable_cores", lambda: 4)
    entities = 3 * ENTITIES_PER_TRAINING_THREAD
    torch.set_num_threads(4)
    monkeypatch.setattr(threads, "spinning_is_limited", lambda: False)
    assert use_training_threads(entities) == 1
    monkeypatch.setattr(threads, "spinning_is_limited", lambda: True)
    assert use_training_threads(entities) == 3
    assert use_training_threads(ENTITIES_PER_TRAINING_THREAD) == 1
    assert use_training_threads(entities) == 3
    assert num_side_by_side(entities) == (4, 1)  # a validation between them


def test_a_given_number_of_threads_is_the_number_of_all_threads(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(threads, "usable_cores", lambda: 6)
    torch.set_num_threads(4)
    for number in (1, 3):
        monkeypatch.setenv("TITER_THREADS", str(number))
        use_threads(10)
        assert num_side_by_side() == (1, number)


@pytest.mark.parametrize(
    ("given", "before", "expected"),
    [
        ({}, "", "500 True"),
        ({"GOMP_SPINCOUNT": "7"}, "", "7 False"),
        ({"OMP_WAIT_POLICY": "active"}, "", "None False"),
        ({}, "torch, ", "None False"),
    ],
)
def test_waiting_threads_soon_release_their_cores_unless_the_user_decides_or_it_is_too_late(
    given: dict[str, str], before: str, expected: str
):
    code = f"import os, {before}titer; from titer.openmp import spinning_is_limited"
    code += "; print(os.environ.get('GOMP_SPINCOUNT'), spinning_is_limited())"
    environment = {k: v for k, v in os.environ.items() if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    found = subprocess.check_output([sys.executable, "-c", code], text=True, env=environment | given)
    assert found.strip() == expected


def test_the_variable_decides(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TITER_THREADS", "3")
    assert use_threads(10) == 3
    assert torch.get_num_threads() == 3
    monkeypatch.setenv("TITER_THREADS", "many")
    with pytest.raises(ConfigError, match="TITER_THREADS must be a positive whole number, not 'many'"):
        use_threads(10)


def test_the_limit_of_a_container_and_other_processes_leave_fewer_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(16), raising=False)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    quota, load = tmp_path / "cpu.max", tmp_path / "loadavg"
    assert idle_cores(quota, load) == 16
    quota.write_text("max 100000\n")
    assert idle_cores(quota, load) == 16
    quota.write_text("250000 100000\n")
    assert idle_cores(quota, load) == 2
    quota.unlink()
    monkeypatch.setattr(os, "getloadavg", lambda: (12.1, 0.0, 0.0))
    assert idle_cores(quota, load) == 4
    monkeypatch.setattr(os, "getloadavg", lambda: (99.0, 0.0, 0.0))
    assert idle_cores(quota, load) == 1


def test_cores_that_were_busy_a_while_ago_are_idle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(16), raising=False)
    monkeypatch.setattr(os, "getloadavg", lambda: (12.1, 0.0, 0.0))
    quota, load = tmp_path / "cpu.max", tmp_path / "loadavg"
    load.write_text("12.10 4.00 1.00 1/321 4711\n")
    assert idle_cores(quota, load) == 16
    load.write_text("12.10 4.00 1.00 7/321 4711\n")
    assert idle_cores(quota, load) == 10
    load.write_text("12.10 4.00 1.00 40/321 4711\n")
    assert idle_cores(quota, load) == 4
    load.write_text("something else\n")
    assert idle_cores(quota, load) == 4


@pytest.mark.slow
def test_the_option_reaches_training_and_forecasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TITER_THREADS", "1")
    titer("train", "small-world", "--model", "recurrency", "--out", tmp_path / "run", "--threads", "2")
    assert '"threads": 2' in (tmp_path / "run" / "training.json").read_text()
    torch.set_num_threads(1)
    titer("forecast", tmp_path / "run", "Aldoria", "accuse", "--threads", "2")
    assert torch.get_num_threads() == 2


@pytest.mark.slow
def test_a_process_computes_with_one_thread_for_a_small_dataset(recurrency_run: Path):
    code = f"import torch, titer; titer.Run({str(recurrency_run)!r}).load_model('cpu'); print(torch.get_num_threads())"
    environment = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS", "TITER_THREADS")}
    shown = subprocess.check_output([sys.executable, "-c", code], text=True, env=environment)
    assert shown.strip() == "1"
