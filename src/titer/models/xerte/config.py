"""The settings of xERTE."""

from dataclasses import dataclass

from titer.errors import ConfigError
from titer.models.common.validation import check_at_least_one, check_partial, check_share


@dataclass(frozen=True)
class XERTEConfig:
    """Settings of ``XERTE``. Memory grows with batch size × ``kept_edges`` × ``num_edges`` × ``attention_dim``."""

    # The subgraph.
    num_edges: tuple[int, ...] = (64, 32, 32)
    """How many of the latest edges of a node each step looks at; there are as many steps as numbers."""
    kept_edges: int = 40
    """K: how many edges of a question, those with the most attention, survive each step but the last."""
    strictly_back: bool = False
    """Whether every step must go back in time (t' < t), or may stay at the time of its node (t' ≤ t)."""

    # Sizes.
    entity_dim: int = 96
    """Size of an entity's static part."""
    time_dim: int = 32
    """Size of Φ(Δt), the part of a node that depends on its time."""
    attention_dim: int = 64
    """Size of the vectors whose product is an attention score."""

    # The update of representations.
    gamma: float = 0.5
    """γ: how much of its own representation a node keeps when it hears from its neighbours."""

    dropout: float = 0.2
    """Share of embeddings and representations that is left out in training."""

    def __post_init__(self) -> None:
        if not self.num_edges or min(self.num_edges) < 1:
            raise ConfigError(f"model.num_edges must be one positive number for each step, not {list(self.num_edges)}")
        check_at_least_one(self, "kept_edges", "entity_dim", "time_dim", "attention_dim")
        check_share(self, "gamma")
        check_partial(self, "dropout")

    @property
    def node_dim(self) -> int:
        """Size of a node's representation, and of a relation's."""
        return self.entity_dim + self.time_dim
