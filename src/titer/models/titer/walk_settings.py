"""Settings of the kernels of ``fused_roll_out``."""

from dataclasses import dataclass
from typing import Any

from titer.graph.history import History
from titer.models.titer.config import TITerConfig


@dataclass(frozen=True)
class WalkSettings:
    """What the kernels need to know beside their tensors."""

    config: TITerConfig
    start: int
    self_loop: int

    @classmethod
    def of(cls, config: TITerConfig, start: int, history: History) -> "WalkSettings":
        """Return the settings of a policy whose walks begin with the relation ``start``."""
        return cls(config, start, history.vocabulary.self_loop)

    @property
    def dims(self) -> dict[str, int]:
        """The sizes of the parts of a row, and the sizes of the blocks that hold them."""
        sizes = {"ENTITY": self.config.entity_dim, "RELATION": self.config.relation_dim, "TIME": self.config.time_dim}
        return sizes | {f"BLOCK_{name[0]}": block_size(size) for name, size in sizes.items()}

    def actions(self, hop: int) -> dict[str, Any]:
        """Return which actions there are at a hop."""
        must_leave = hop == 0 and not self.config.may_stay_at_first
        limit = self.config.num_edges - int(self.config.loop_counts_as_edge and not must_leave)
        return {
            "LIMIT": limit,
            "LOOP": self.self_loop,
            "MUST_LEAVE": must_leave,
            "WEIGHTED": self.config.weighted_scoring,
            "ACTIONS": block_size(limit + 1),
        }

    def freezes(self, hop: int) -> bool:
        """Return whether a self-loop keeps the state at a hop. The first input is never one."""
        return hop > 0 and self.config.freeze_state_on_self_loop


def block_size(size: int) -> int:
    """Return the smallest power of 2 that is not less than a size, as blocks of kernels have such sizes."""
    return 1 << (size - 1).bit_length()
