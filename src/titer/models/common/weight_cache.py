"""A cache for results that depend on a history and on the weights of a model."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from torch import Tensor, nn

from titer.graph.history import History

Result = TypeVar("Result")


class WeightKeyedCache(Generic[Result]):
    """A cache of one result, which is valid until the history or any of the model's tensors changes."""

    def __init__(self) -> None:
        self._last: tuple[History, list[Tensor], tuple[int, ...], Result] | None = None

    def __call__(
        self, model: nn.Module, history: History, compute: Callable[[], Result], *key: int, also: Sequence[Tensor] = ()
    ) -> Result:
        """Return ``compute()``, or its cached result if nothing that it depends on has changed.

        Args:
            model: The module whose parameters and buffers ``compute`` uses.
            history: The history that ``compute`` uses.
            compute: Computes the result.
            *key: Other values that the result depends on.
            also: Tensors outside of the model that the result depends on.

        Returns:
            The result.
        """
        tensors = [*model.parameters(), *model.buffers(), *also]
        if any(tensor.is_inference() for tensor in tensors):
            return compute()  # inference tensors do not count their changes
        # Every in-place change of a tensor, as by an optimiser or by loading weights, increases its version. A tensor
        # that replaces another has a different id, as long as a reference to the other is kept.
        key = (*key, *(number for tensor in tensors for number in (id(tensor), tensor._version)))
        if self._last is None or self._last[0] is not history or self._last[2] != key:
            self._last = history, tensors, key, compute()
        return self._last[3]

    def __deepcopy__(self, memo: dict[int, Any]) -> "WeightKeyedCache[Result]":
        """Return an empty cache: a copy of a model has tensors of its own."""
        return WeightKeyedCache()
