"""Settings of TANGO."""

from dataclasses import dataclass
from typing import ClassVar

from titer.models.common.validation import check_at_least_one, check_not_negative, check_one_of, check_partial
from titer.models.search_space import LEARNING, Categorical, FloatRange, IntRange, SearchSpace

SOLVERS = ("euler", "midpoint", "rk4")


@dataclass(frozen=True)
class TANGOConfig:
    """Settings of ``TANGO`` with either decoder."""

    SEARCH: ClassVar[SearchSpace] = {
        **LEARNING,
        "model.dim": Categorical((100, 200)),
        "model.steps": IntRange(2, 8),
        "model.layers": IntRange(1, 3),
        "model.jump": FloatRange(0.0, 1.0),
        "model.dropout": FloatRange(0.0, 0.6),
    }

    dim: int = 200
    """Size of the embeddings."""
    steps: int = 4
    """k: number of the latest snapshots over which the equation is solved."""
    layers: int = 2
    """L: number of layers of the graph network in the derivative."""
    jump: float = 0.1
    """w: weight of the jump, the facts that begin or end in a snapshot; 0 turns it off."""
    solver: str = "rk4"
    """Method of the solver, ``euler``, ``midpoint`` or ``rk4``, with one solver step per snapshot."""
    dropout: float = 0.3
    """Dropout rate of the query, before and after the decoder."""

    def __post_init__(self) -> None:
        check_at_least_one(self, "dim", "steps", "layers")
        check_not_negative(self, "jump")
        check_one_of(self, "solver", SOLVERS)
        check_partial(self, "dropout")
