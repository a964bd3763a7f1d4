"""Search spaces: the values among which ``titer tune`` looks for the best settings.

The configuration class of a model declares its space in ``SEARCH``, by the full names of settings.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Categorical:
    """A few values, in no order.

    Attributes:
        options: The values: numbers, strings or booleans.
    """

    options: tuple[Any, ...]

    def including(self, value: Any) -> "Categorical":
        """Return the options with one more, if it is not among them.

        Args:
            value: The value.
        """
        return self if value in self.options else Categorical((*self.options, value))


@dataclass(frozen=True)
class IntRange:
    """Whole numbers.

    Attributes:
        low: The smallest number.
        high: The largest number.
        log: Whether to draw uniformly from their logarithms.
    """

    low: int
    high: int
    log: bool = False

    def including(self, value: int) -> "IntRange":
        """Return the smallest range that has the value too.

        Args:
            value: The value.
        """
        return IntRange(min(self.low, value), max(self.high, value), self.log)


@dataclass(frozen=True)
class FloatRange:
    """Real numbers.

    Attributes:
        low: The smallest number.
        high: The largest number.
        log: Whether to draw uniformly from their logarithms.
    """

    low: float
    high: float
    log: bool = False

    def including(self, value: float) -> "FloatRange":
        """Return the smallest range that has the value too.

        Args:
            value: The value.
        """
        return FloatRange(min(self.low, value), max(self.high, value), self.log)


SearchSpace = Mapping[str, Categorical | IntRange | FloatRange]
"""Ranges by the full names of settings, such as ``model.dim`` and ``training.learning_rate``."""

LEARNING: SearchSpace = {
    "training.learning_rate": FloatRange(1e-4, 1e-2, log=True),
    "training.batch_size": Categorical((256, 512, 1024)),
}
"""What matters for most models that are trained by gradients."""
