"""The settings of TANGO."""

from dataclasses import dataclass

from titer.errors import ConfigError

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
        for name in ("dim", "steps", "layers"):
            if getattr(self, name) < 1:
                raise ConfigError(f"model.{name} must be at least 1, not {getattr(self, name)}")
        if self.jump < 0:
            raise ConfigError(f"model.jump must not be negative, as {self.jump} is")
        if self.solver not in SOLVERS:
            raise ConfigError(f"model.solver must be one of {', '.join(SOLVERS)}, not {self.solver!r}")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"model.dropout must be at least 0 and below 1, not {self.dropout}")
