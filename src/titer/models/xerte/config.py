"""Settings of xERTE."""

from dataclasses import dataclass
from typing import ClassVar

from titer.errors import ConfigError
from titer.models.common.validation import check_at_least_one, check_partial, check_share
from titer.models.search_space import LEARNING, Categorical, FloatRange, SearchSpace


@dataclass(frozen=True)
class XERTEConfig:
    """Settings of ``XERTE``. Memory grows with batch size × ``kept_edges`` × ``num_edges`` × ``attention_dim``."""

    SEARCH: ClassVar[SearchSpace] = {
        **LEARNING,
        "training.batch_size": Categorical((64, 128, 256, 512)),
        "model.kept_edges": Categorical((20, 40, 80)),
        "model.dropout": FloatRange(0.0, 0.5),
        "model.gamma": FloatRange(0.1, 0.9),
    }

    # The subgraph.
    num_edges: tuple[int, ...] = (64, 32, 32)
    """Number of a node's latest edges that each expansion considers; one number per expansion."""
    kept_edges: int = 40
    """K: number of a query's edges with the most attention that are kept after each expansion but the last."""
    strictly_back: bool = False
    """Whether every edge must go back in time (t' < t), or may be at the time of its node too (t' ≤ t)."""

    # Sizes.
    entity_dim: int = 96
    """Size of an entity's static embedding."""
    time_dim: int = 32
    """Size of the time encoding Φ(Δt)."""
    attention_dim: int = 64
    """Size of the two vectors whose dot product is an attention score."""

    # The update of representations.
    gamma: float = 0.5
    """γ: weight of a node's own representation, beside its neighbours', in the reverse update."""

    dropout: float = 0.2
    """Dropout rate of embeddings and representations."""

    def __post_init__(self) -> None:
        if not self.num_edges or min(self.num_edges) < 1:
            raise ConfigError(
                f"model.num_edges must be one positive number for each expansion, not {list(self.num_edges)}"
            )
        check_at_least_one(self, "kept_edges", "entity_dim", "time_dim", "attention_dim")
        check_share(self, "gamma")
        check_partial(self, "dropout")

    @property
    def node_dim(self) -> int:
        """Size of the representations of nodes and relations."""
        return self.entity_dim + self.time_dim
