"""What need not be computed again."""

from collections.abc import Callable
from typing import Generic, TypeVar

from torch import nn

from titer.graph.history import History

Made = TypeVar("Made")


class Remembered(Generic[Made]):
    """Keeps the last thing that was made from a history and a model's weights, until any of them changes."""

    def __init__(self) -> None:
        self._last: tuple[History, tuple[int, ...], Made] | None = None

    def __call__(self, model: nn.Module, history: History, make: Callable[[], Made], *key: int) -> Made:
        """The same as ``make()``, which may look at the model's parameters, the history and the numbers of the key."""
        parameters = list(model.parameters())
        if any(parameter.is_inference() for parameter in parameters):
            return make()  # nobody knows whether they have changed
        # Every change of a tensor in place, as by an optimiser or by loading weights, counts up its version.
        key = (*key, *(parameter._version for parameter in parameters))
        if self._last is None or self._last[0] is not history or self._last[1] != key:
            self._last = history, key, make()
        return self._last[2]
