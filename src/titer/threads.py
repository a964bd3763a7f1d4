"""The number of CPU threads that torch computes with."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import torch

from titer.errors import ConfigError
from titer.openmp import spinning_is_limited

THREADS_VARIABLE = "TITER_THREADS"
"""Environment variable with the number of threads; it takes precedence over the rule. ``--threads`` sets it."""
ENTITIES_PER_THREAD = 8192
"""Scores of fewer entities are computed faster by one thread than by several that wait for each other."""
ENTITIES_PER_TRAINING_THREAD = 2048
"""The same for optimisation steps, whose operations are larger, if waiting threads soon release their cores."""
MAX_THREADS = 8
CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")
LOAD = Path("/proc/loadavg")
_chosen: tuple[int, int] | None = None
"""The number of threads that ``use_threads`` has set, and how many it might have set for any number of entities."""


def use_threads(num_entities: int, per_thread: int = ENTITIES_PER_THREAD) -> int:
    """Set the number of threads that suits a model on the CPU.

    ``TITER_THREADS`` decides if it is set. Otherwise one thread computes, and one more for each further ``per_thread``
    entities, as long as cores are idle; but never more threads than torch is set to, by ``OMP_NUM_THREADS`` or
    ``torch.set_num_threads``.

    Args:
        num_entities: The number of entities that the model scores for a query.
        per_thread: How many entities are worth a thread.

    Returns:
        The number of threads from now on.

    Raises:
        ConfigError: If ``TITER_THREADS`` is not a positive whole number.
    """
    global _chosen
    given, allowed = os.environ.get(THREADS_VARIABLE), torch.get_num_threads()
    if _chosen is not None and _chosen[0] == allowed:
        allowed = _chosen[1]  # not changed since
    if given is None:
        threads = min(allowed, suitable_threads(num_entities, idle_cores(), per_thread))
    elif given.isdecimal() and int(given) > 0:
        threads = allowed = int(given)
    else:
        raise ConfigError(f"{THREADS_VARIABLE} must be a positive whole number, not {given!r}")
    if threads != torch.get_num_threads():
        torch.set_num_threads(threads)
    _chosen = threads, allowed
    return threads


def use_training_threads(num_entities: int) -> int:
    """Set the number of threads that suits optimisation steps on the CPU, as ``use_threads`` does for scores.

    Args:
        num_entities: The number of entities that the model scores for a query.

    Returns:
        The number of threads from now on.

    Raises:
        ConfigError: If ``TITER_THREADS`` is not a positive whole number.
    """
    return use_threads(num_entities, ENTITIES_PER_TRAINING_THREAD if spinning_is_limited() else ENTITIES_PER_THREAD)


def reuse_threads(threads: int) -> None:
    """Set the number of threads that a training began with, which ends in other weights with another number.

    ``TITER_THREADS`` decides if it is set.

    Args:
        threads: The number of threads of the checkpoint.
    """
    global _chosen
    if THREADS_VARIABLE not in os.environ and threads != torch.get_num_threads():
        allowed = _chosen[1] if _chosen is not None else torch.get_num_threads()
        torch.set_num_threads(threads)
        _chosen = threads, max(threads, allowed)


@contextmanager
def side_by_side(num_entities: int) -> Generator[int]:
    """Yield how many threads may score batches side by side, and let each compute with what suits scoring.

    They do not wait for each other, so cores that other processes use count too. Each has states of all entities, so
    that one thread scores very many entities.

    Args:
        num_entities: The number of entities that the model scores for a query.
    """
    before = torch.get_num_threads()
    # Otherwise, the caller of titer or the user decides about threads.
    is_chosen = _chosen is not None and _chosen[0] == before and THREADS_VARIABLE not in os.environ
    if not is_chosen or num_entities > MAX_THREADS * ENTITIES_PER_THREAD:
        yield 1
        return
    assert _chosen is not None
    each = suitable_threads(num_entities, before)
    try:
        torch.set_num_threads(each)  # also for threads that begin now
        yield max(1, min(_chosen[1], usable_cores(), MAX_THREADS) // each)
    finally:
        torch.set_num_threads(before)


def suitable_threads(num_entities: int, cores: int, per_thread: int = ENTITIES_PER_THREAD) -> int:
    """Return the number of threads for a number of entities and of idle cores; at least 1."""
    return max(1, min(num_entities // per_thread, cores, MAX_THREADS))


def idle_cores(quota: Path = CPU_QUOTA, load: Path = LOAD) -> int:
    """Return how many cores this process may use that no other process uses now; at least 1.

    Args:
        quota: The file with the CPU limit of the container, as in cgroup v2.
        load: The file with the load of the system, as in Linux.
    """
    return max(1, round(usable_cores(quota) - _load(load)))


def _load(path: Path) -> float:
    """Return how many other threads compute: on average in the last minute or, where that is fewer, now."""
    average = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    try:
        # The fourth field is running/all; this thread is one of those that run.
        return min(average, int(path.read_text(encoding="ascii").split()[3].partition("/")[0]) - 1)
    except (OSError, ValueError, IndexError):
        return average


def usable_cores(quota: Path = CPU_QUOTA) -> int:
    """Return how many cores this process may use.

    Args:
        quota: As for ``idle_cores``.
    """
    # Not every system can restrict a process to some of the cores.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        limit, period = quota.read_text(encoding="ascii").split()
        cores = min(cores, int(int(limit) / int(period)))
    except (OSError, ValueError):
        pass  # there is no limit
    return max(cores, 1)
