"""Settings of RE-NET."""

from dataclasses import dataclass
from typing import ClassVar

from titer.errors import ConfigError
from titer.models.common.validation import check_at_least_one, check_partial
from titer.models.search_space import LEARNING, Categorical, FloatRange, IntRange, SearchSpace


@dataclass(frozen=True)
class RENetConfig:
    """Settings of ``RENet``."""

    SEARCH: ClassVar[SearchSpace] = {
        **LEARNING,
        "model.dim": Categorical((100, 200)),
        "model.local_steps": IntRange(3, 15),
        "model.global_steps": IntRange(3, 15),
        "model.dropout": FloatRange(0.0, 0.6),
        "model.question_dropout": FloatRange(0.0, 0.8),
    }

    dim: int = 200
    """Size of the embeddings and of the recurrent states."""
    layers: int = 1
    """Number of R-GCN layers, which is the radius of the neighbourhood in a snapshot."""
    block: int = 2
    """Size of the blocks in the block-diagonal matrices of the relations; must divide ``dim``."""
    attention_dim: int = 32
    """Size of the query and key vectors of the attention over neighbours."""
    local_steps: int = 10
    """Number of snapshots in the local history: the latest in which the subject has facts."""
    global_steps: int = 10
    """Number of snapshots in the global history: the latest of all."""
    dropout: float = 0.3
    """Dropout rate of embeddings and states."""
    question_dropout: float = 0.5
    """Share of training queries whose subject embedding, and independently whose relation embedding, is set to zero in
    the output layer; without it these embeddings memorise the training facts."""

    def __post_init__(self) -> None:
        check_at_least_one(self, "dim", "layers", "block", "attention_dim", "local_steps", "global_steps")
        check_partial(self, "dropout", "question_dropout")
        if self.dim % self.block:
            raise ConfigError(f"model.block must divide model.dim; {self.block} does not divide {self.dim}")
