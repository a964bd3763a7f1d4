"""The group of processes that train one model together, and what they exchange.

Without a group every function does nothing, or returns what it is given: a training of one process needs no other code.
"""

import atexit
import json
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, nn

from titer.errors import TiterError
from titer.parallel.environment import RENDEZVOUS, local_rank, num_local, num_processes

Value = TypeVar("Value")

_is_joined = False


def size() -> int:
    """Return the number of processes in the group; 1 without a group."""
    return distributed.get_world_size() if _is_joined else 1


def rank() -> int:
    """Return the number of this process in the group, from 0. The process with number 0 writes all files."""
    return distributed.get_rank() if _is_joined else 0


@contextmanager
def joined(device: torch.device) -> Generator[torch.device]:
    """Join the group that torchrun or ``titer train --workers`` has started this process for, if any.

    Args:
        device: The device of the settings. Without an index, each process of a machine uses a GPU of its own.

    Yields:
        The device of this process.

    Raises:
        TiterError: If the other processes cannot be reached.
    """
    global _is_joined
    if num_processes() == 1 or _is_joined:
        yield device
        return
    may_choose = str(device) == "cuda"
    has_own_gpu = may_choose and num_local() <= torch.cuda.device_count()
    if may_choose:
        device = torch.device("cuda", local_rank() % torch.cuda.device_count())
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if not distributed.is_initialized():
        _initialise("cpu:gloo,cuda:nccl" if has_own_gpu else "gloo")
        # The group stays until the process ends: its next training or evaluation needs the same group.
        atexit.register(distributed.destroy_process_group)
    _is_joined = True
    try:
        yield device
    except BaseException:
        # Leaving the group after an error may wait for processes that are gone.
        atexit.unregister(distributed.destroy_process_group)
        raise
    finally:
        _is_joined = False


def _initialise(backend: str) -> None:
    with _contact():
        distributed.init_process_group(
            backend,
            init_method=os.environ.get(RENDEZVOUS, "env://"),
            rank=int(os.environ["RANK"]),
            world_size=num_processes(),
        )


@contextmanager
def _contact() -> Generator[None]:
    """Explain the errors of an exchange, most of which mean that another process is gone."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        number = os.environ.get("RANK", "0")
        # The text of the backend names its own sources and sockets, which do not help the user.
        raise TiterError(
            f"process {number} stopped: another process has ended or cannot be reached. "
            "The last checkpoint is kept; continue with --resume"
        ) from error


def sum_over_processes(tensor: Tensor) -> Tensor:
    """Replace a tensor by its sum over all processes, in place.

    Args:
        tensor: A tensor of the same shape in every process.

    Returns:
        The same tensor.
    """
    if size() == 1:
        return tensor
    if tensor.dtype == torch.bool:
        return tensor.copy_(sum_over_processes(tensor.byte()))
    with _contact():
        place = _reachable(tensor)
        distributed.all_reduce(place)
        return tensor if place is tensor else tensor.copy_(place)


def gather(tensor: Tensor) -> list[Tensor]:
    """Return the tensors of all processes, in their order.

    Args:
        tensor: A tensor of the same shape in every process.
    """
    if size() == 1:
        return [tensor]
    with _contact():
        place = _reachable(tensor.contiguous())
        found = [torch.empty_like(place) for _ in range(size())]
        distributed.all_gather(found, place)
        return [one.to(tensor.device) for one in found]


def copy_from_first(tensor: Tensor) -> Tensor:
    """Replace a tensor by that of the first process, in place.

    Args:
        tensor: A tensor of the same shape in every process.

    Returns:
        The same tensor.
    """
    if size() == 1:
        return tensor
    with _contact(), torch.no_grad():
        place = _reachable(tensor.contiguous())
        distributed.broadcast(place, src=0)
        return tensor if place is tensor else tensor.copy_(place)


def share_state(model: nn.Module) -> None:
    """Give the parameters and buffers of the first process to all others.

    Args:
        model: The same model in every process.
    """
    for tensor in model.state_dict().values():
        copy_from_first(tensor)


def from_first(make: Callable[[], Value]) -> Value:
    """Call a function in the first process, and return its result in all of them.

    Args:
        make: Returns a value that JSON can represent.

    Returns:
        The value.

    Raises:
        TiterError: In the other processes, if the function failed in the first.
    """
    if size() == 1:
        return make()
    if rank() == 0:
        try:
            value = make()
        except BaseException as error:
            _send_bytes(json.dumps({"error": str(error)}).encode())
            raise
        _send_bytes(json.dumps({"value": value}).encode())
        return value
    message = json.loads(_send_bytes(b""))
    if "error" in message:
        raise TiterError(f"the first process stopped: {message['error']}")
    return message["value"]


def tensors_from_first(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the named tensors of the first process in every process, on the CPU where they were received.

    Args:
        tensors: The tensors; only those of the first process count.
    """
    if size() == 1:
        return dict(tensors)
    about: list[Any] = from_first(
        lambda: [[name, str(t.dtype).removeprefix("torch."), list(t.shape)] for name, t in tensors.items()]
    )
    is_first = rank() == 0
    empty = ((name, torch.empty(shape, dtype=getattr(torch, kind))) for name, kind, shape in about)
    return {name: copy_from_first(tensors[name] if is_first else place) for name, place in empty}


def _send_bytes(data: bytes) -> bytes:
    length = int(copy_from_first(torch.tensor(len(data))))
    place = torch.empty(length, dtype=torch.uint8)
    if rank() == 0:
        place.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))
    return bytes(copy_from_first(place).tolist())


def _reachable(tensor: Tensor) -> Tensor:
    """Return the tensor, or a copy on the CPU if processes that share a GPU exchange it."""
    return tensor.cpu() if tensor.is_cuda and "nccl" not in distributed.get_backend_config() else tensor
