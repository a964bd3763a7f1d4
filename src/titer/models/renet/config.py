"""The settings of RE-NET."""

from dataclasses import dataclass

from titer.errors import ConfigError
from titer.models.common.validation import check_at_least_one, check_partial


@dataclass(frozen=True)
class RENetConfig:
    """Settings of ``RENet``."""

    dim: int = 200
    """Size of embeddings and states."""
    layers: int = 1
    """Layers of R-GCN: how far around the subject a step is seen."""
    block: int = 2
    """Size of the blocks in the matrices of the relations; it divides ``dim``."""
    attention_dim: int = 32
    """Size of the vectors by which a question chooses among neighbours."""
    local_steps: int = 10
    """How many steps are read in which the subject has facts: the latest."""
    global_steps: int = 10
    """How many steps are read as a whole: the latest."""
    dropout: float = 0.3
    """Share of embeddings and states that is left out in training."""
    question_dropout: float = 0.5
    """Share of questions that must do, in training, without the embedding of their subject, and of their relation, once
    history is read: else these learn the training facts by heart."""

    def __post_init__(self) -> None:
        check_at_least_one(self, "dim", "layers", "block", "attention_dim", "local_steps", "global_steps")
        check_partial(self, "dropout", "question_dropout")
        if self.dim % self.block:
            raise ConfigError(f"model.block must divide model.dim, which {self.block} does not with {self.dim}")
