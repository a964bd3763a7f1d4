"""A cache for results that depend on a history and on the weights of a model."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

from torch import Tensor, nn

from titer.graph.history import History

Result = TypeVar("Result")
_OWN: ContextVar[dict[int, Any] | None] = ContextVar("own", default=None)
"""The results of all caches in a thread that keeps its own; None if it shares them with other threads."""


@contextmanager
def own_caches() -> Generator[None]:
    """Give this thread results of its own in all caches, until the block ends.

    Threads that score different time steps at once would otherwise replace each other's results.
    """
    token = _OWN.set({})
    try:
        yield
    finally:
        _OWN.reset(token)


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
        own = _OWN.get()
        last = self._last if own is None else own.get(id(self))
        if last is None or last[0] is not history or last[2] != key:
            last = history, tensors, key, compute()
            if own is None:
                self._last = last
            else:
                own[id(self)] = last
        return last[3]

    def __deepcopy__(self, memo: dict[int, Any]) -> "WeightKeyedCache[Result]":
        """Return an empty cache: a copy of a model has tensors of its own."""
        return WeightKeyedCache()
