"""What torch builds while something runs."""

from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


class Built(TorchDispatchMode):
    """A context that notes the bytes of every tensor that is computed in it; views cost nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        """Run an operation, and note what it gives unless it is a view or was there before."""
        found = func(*args, **(kwargs or {}))
        known = {given.untyped_storage().data_ptr() for given in args if isinstance(given, Tensor)}
        for made in found if isinstance(found, tuple | list) else (found,):
            if isinstance(made, Tensor) and made.untyped_storage().data_ptr() not in known:
                self.sizes.append(made.nbytes)
        return found
