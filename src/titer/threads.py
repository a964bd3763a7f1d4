"""The number of CPU threads that torch computes with."""

import os
from pathlib import Path

import torch

from titer.errors import ConfigError

THREADS_VARIABLE = "TITER_THREADS"
"""Environment variable with the number of threads; it takes precedence over the rule. ``--threads`` sets it."""
ENTITIES_PER_THREAD = 8192
"""Scores of fewer entities are computed faster by one thread than by several that wait for each other."""
MAX_THREADS = 8
CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_chosen: tuple[int, int] | None = None
"""The number of threads that ``use_threads`` has set, and how many it might have set for any number of entities."""


def use_threads(num_entities: int) -> int:
    """Set the number of threads that suits a model on the CPU.

    ``TITER_THREADS`` decides if it is set. Otherwise one thread computes, and one more for each further
    ``ENTITIES_PER_THREAD`` entities, as long as cores are idle; but never more threads than torch is set to, by
    ``OMP_NUM_THREADS`` or ``torch.set_num_threads``.

    Args:
        num_entities: The number of entities that the model scores for a query.

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
        threads = min(torch.get_num_threads(), suitable_threads(num_entities, idle_cores()))
    elif given.isdecimal() and int(given) > 0:
        threads = allowed = int(given)
    else:
        raise ConfigError(f"{THREADS_VARIABLE} must be a positive whole number, not {given!r}")
    if threads != torch.get_num_threads():
        torch.set_num_threads(threads)
    _chosen = threads, allowed
    return threads


def side_by_side(num_entities: int) -> int:
    """Return how many threads may score batches side by side, each with the threads that ``use_threads`` has set.

    They do not wait for each other, so cores that other processes use count too. Each has states of all entities, so
    that one thread scores very many entities.

    Args:
        num_entities: The number of entities that the model scores for a query.
    """
    if _chosen is None or _chosen[0] != torch.get_num_threads():
        return 1  # the caller of titer decides about threads
    if num_entities > MAX_THREADS * ENTITIES_PER_THREAD:
        return 1
    threads, allowed = _chosen
    return max(1, min(allowed, usable_cores(), MAX_THREADS) // threads)


def suitable_threads(num_entities: int, cores: int) -> int:
    """Return the number of threads for a number of entities and of idle cores; at least 1."""
    return max(1, min(num_entities // ENTITIES_PER_THREAD, cores, MAX_THREADS))


def idle_cores(quota: Path = CPU_QUOTA) -> int:
    """Return how many cores this process may use that no other process uses now; at least 1.

    Args:
        quota: The file with the CPU limit of the container, as in cgroup v2.
    """
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(1, round(usable_cores(quota) - load))


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
