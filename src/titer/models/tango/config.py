"""Settings of TANGO."""

from dataclasses import dataclass

from titer.models.common.validation import check_at_least_one, check_not_negative, check_one_of, check_partial

SOLVERS = ("euler", "midpoint", "rk4")


@dataclass(frozen=True)
class TANGOConfig:
    """Settings of ``TANGO`` with either decoder."""

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
