"""What need not be computed again."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from torch import Tensor, nn

from titer.graph.history import History

Made = TypeVar("Made")


class WeightKeyedCache(Generic[Made]):
    """Keeps the last thing that was made from a history and a model's tensors, until any of them changes."""

    def __init__(self) -> None:
        self._last: tuple[History, list[Tensor], tuple[int, ...], Made] | None = None

    def __call__(
        self, model: nn.Module, history: History, make: Callable[[], Made], *key: int, also: Sequence[Tensor] = ()
    ) -> Made:
        """The same as ``make()``, which may look at the model's parameters and buffers, and at whatever is named."""
        tensors = [*model.parameters(), *model.buffers(), *also]
        if any(tensor.is_inference() for tensor in tensors):
            return make()  # nobody knows whether they have changed
        # Every change of a tensor in place, as by an optimiser or by loading weights, counts up its version. One that
        # takes another's place has an id of its own, as long as the other is kept.
        key = (*key, *(number for tensor in tensors for number in (id(tensor), tensor._version)))
        if self._last is None or self._last[0] is not history or self._last[2] != key:
            self._last = history, tensors, key, make()
        return self._last[3]

    def __deepcopy__(self, memo: dict[int, Any]) -> "WeightKeyedCache[Made]":
        """A copy has tensors of its own, and nothing was made from them yet."""
        return WeightKeyedCache()
