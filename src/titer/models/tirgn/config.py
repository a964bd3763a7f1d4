"""Settings of TiRGN."""

from dataclasses import dataclass
from typing import ClassVar

from titer.errors import ConfigError
from titer.models.re_gcn.config import REGCNConfig
from titer.models.search_space import FloatRange, SearchSpace


@dataclass(frozen=True)
class TiRGNConfig(REGCNConfig):
    """Settings of ``TiRGN``. The defaults are the authors' values for ICEWS14, without the static graph."""

    SEARCH: ClassVar[SearchSpace] = {
        **REGCNConfig.SEARCH,
        "model.history_weight": FloatRange(0.05, 0.95),
    }

    steps: int = 9
    """k: number of the latest snapshots over which the embeddings evolve."""
    angle: float = 14.0
    """γ: angle in degrees by which the embedding of an entity may depart from its initial one in each snapshot; with
    ``names`` only."""
    history_weight: float = 0.3
    """α: weight of the global mode, which knows all past answers; the local mode has the weight 1 - α."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.history_weight < 1:
            raise ConfigError(f"model.history_weight must be above 0 and below 1, not {self.history_weight}")
