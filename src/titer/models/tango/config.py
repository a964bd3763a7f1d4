"""The settings of TANGO."""

from dataclasses import dataclass

from titer.models.common.validation import check_at_least_one, check_not_negative, check_one_of, check_partial

SOLVERS = ("euler", "midpoint", "rk4")


@dataclass(frozen=True)
class TANGOConfig:
    """Settings of ``TANGO``, whichever its decoder."""

    dim: int = 200
    """Size of embeddings."""
    steps: int = 4
    """How many snapshots the embeddings flow through: the latest."""
    layers: int = 2
    """Layers of the graph network that drives the flow."""
    jump: float = 0.1
    """w, the weight of facts that begin or cease; 0 leaves them out."""
    solver: str = "rk4"
    """euler, midpoint or rk4: how the flow is computed, in one step of the solver for each snapshot."""
    dropout: float = 0.3
    """Share of the question that is left out in training, before and after the decoder."""

    def __post_init__(self) -> None:
        check_at_least_one(self, "dim", "steps", "layers")
        check_not_negative(self, "jump")
        check_one_of(self, "solver", SOLVERS)
        check_partial(self, "dropout")
