"""A record of the memory that PyTorch operations allocate."""

from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


class Built(TorchDispatchMode):
    """A context that records the bytes of every tensor computed in it, views excepted."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        """Run an operation, and record the sizes of its results unless they share memory with its arguments."""
        found = func(*args, **(kwargs or {}))
        known = {given.untyped_storage().data_ptr() for given in args if isinstance(given, Tensor)}
        for made in found if isinstance(found, tuple | list) else (found,):
            if isinstance(made, Tensor) and made.untyped_storage().data_ptr() not in known:
                self.sizes.append(made.nbytes)
        return found
