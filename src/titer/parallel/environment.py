"""The place of this process among those that train together, by the variables that torchrun sets."""

import os

RENDEZVOUS = "TITER_RENDEZVOUS"
"""Set by ``titer train --workers``: the address at which its processes meet. Processes of torchrun use a port."""


def num_processes() -> int:
    """Return the number of processes that were started together; 1 without a launcher."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Return whether this process is the one that writes files and prints."""
    return num_processes() == 1 or os.environ["RANK"] == "0"


def local_rank() -> int:
    """Return the number of this process among those on its machine, from 0."""
    return int(os.environ.get("LOCAL_RANK", os.environ.get("RANK", "0")))


def num_local() -> int:
    """Return the number of processes on this machine."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", num_processes()))
