"""Settings of RE-GCN."""

from dataclasses import dataclass
from typing import ClassVar

from titer.models.common.validation import check_at_least_one, check_not_negative, check_partial, check_share
from titer.models.search_space import Categorical, FloatRange, IntRange, SearchSpace


@dataclass(frozen=True)
class REGCNConfig:
    """Settings of ``REGCN``. The defaults are the authors' values for ICEWS14, without the static graph."""

    SEARCH: ClassVar[SearchSpace] = {
        # A batch is a whole time step, so its size is not searched.
        "training.learning_rate": FloatRange(1e-4, 1e-2, log=True),
        "model.dim": Categorical((100, 200)),
        "model.steps": IntRange(1, 10),
        "model.layers": IntRange(1, 3),
        "model.dropout": FloatRange(0.0, 0.5),
        "model.entity_weight": FloatRange(0.5, 1.0),
    }

    dim: int = 200
    """Size of the embeddings."""
    steps: int = 3
    """k: number of the latest snapshots over which the embeddings evolve."""
    layers: int = 2
    """Number of graph convolutions in a snapshot."""
    channels: int = 50
    """Number of kernels of the decoders."""
    dropout: float = 0.2
    """Dropout rate of the graph convolutions and of the decoders."""
    entity_weight: float = 0.7
    """Weight of the loss of entities; the loss of relations has the weight 1 minus this."""
    names: bool = False
    """Whether the initial embedding of an entity is computed from its name, the static graph of the paper. Useful if
    names share parts, as in ``Police (Kenya)``."""
    angle: float = 10.0
    """γ: angle in degrees by which the embedding of an entity may depart from its initial one in each snapshot; with
    ``names`` only."""
    angle_weight: float = 0.5
    """Weight of the loss of entities that depart by more than ``angle``."""

    def __post_init__(self) -> None:
        check_at_least_one(self, "dim", "steps", "layers", "channels")
        check_partial(self, "dropout")
        check_share(self, "entity_weight")
        check_not_negative(self, "angle", "angle_weight")
