"""The settings of TITer. Where the paper's text and what its numbers were made with differ, there is a field."""

from dataclasses import dataclass
from typing import Any, ClassVar

from titer.errors import ConfigError
from titer.models.common.validation import (
    check_at_least_one,
    check_not_negative,
    check_one_of,
    check_partial,
    check_positive,
    check_share,
)

ACTIVATIONS = ("cos", "sigmoid", "tanh", "relu")
BASELINES = ("standardised", "moving_average", "other_walks")
PERIODS = ("batch", "epoch")
INITIALISATIONS = ("normal", "xavier")


@dataclass(frozen=True)
class TITerConfig:
    """Settings of ``TITer``. The defaults are what does best on validation; ``preset = "paper"`` is the text."""

    # The walk.
    path_length: int = 3
    """L: how many steps the agent takes."""
    num_edges: int = 50
    """N: how many of the latest edges of a node are candidate actions."""
    strictly_back: bool = True
    """Whether every step must go back in time (t' < t_l), or may stay at the time of its node (t' ≤ t_l)."""
    may_stay_at_first: bool = False
    """Whether the first step may be a self-loop also where the subject has a past."""

    # The policy.
    entity_dim: int = 80
    """d_e: size of an entity's static part."""
    time_dim: int = 20
    """d_t: size of Φ(Δt)."""
    relation_dim: int = 100
    """d_r: size of a relation's embedding."""
    state_dim: int = 100
    """Size of the path encoder's state."""
    hidden_dim: int = 100
    """Size of the layer between state and action scores."""
    relative_time: bool = True
    """Whether a node has a relative time encoding; without it all of its embedding is static (an ablation)."""
    time_activation: str = "cos"
    """σ in Φ(Δt) = σ(w Δt + b): cos, sigmoid, tanh or relu."""
    time_scale: float = 1.0
    """Δt of one step, as Φ sees it."""
    weighted_scoring: bool = True
    """Whether β weighs node against edge scores; without it β is 0.5 (an ablation)."""
    initialisation: str = "normal"
    """How weights begin: embeddings from a standard normal distribution and the rest as torch does, or all xavier."""
    freeze_state_on_self_loop: bool = False
    """Whether the path encoder keeps its state when the last action was a self-loop."""

    dropout: float = 0.0
    """Share of the path encoder's inputs and of the hidden layer that is left out in training."""

    # The reward.
    shaped_reward: bool = True
    """Whether a hit is worth 1 + p_Δt or just 1."""
    num_snapshots: int = 300
    """K: how many snapshots back the Dirichlet distributions reach."""
    sampled_reward: bool = False
    """Whether p is drawn from Dirichlet(α) for every batch, or is its mean."""
    leave_one_out: bool = False
    """Whether α maximises the leave-one-out likelihood."""

    # REINFORCE.
    discount: float = 0.95
    """γ."""
    num_rollouts: int = 1
    """Walks drawn for a question in training."""
    entropy_weight: float = 0.01
    """What the entropy of the policy counts at the beginning of training."""
    entropy_decay: float = 0.9
    """What the entropy weight is multiplied by."""
    entropy_decays_per: str = "batch"
    """How often: batch or epoch."""
    baseline: str = "standardised"
    """What makes returns comparable: their batch mean and deviation, a moving average that is taken off, or the mean
    of the question's other walks, so that a rare success is not measured against what easy questions bring."""

    # The search.
    beam_size: int = 100
    """How many paths are kept after each step at test time."""
    inductive_mean: bool = True
    """Whether entities that were never trained are represented by the inductive mean."""
    mu: float = 0.1
    """μ: how much of an untrained entity's representation is kept when new facts, or a question, speak of it."""

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {
            "strictly_back": False,
            "may_stay_at_first": True,
            "initialisation": "xavier",
            "freeze_state_on_self_loop": True,
            "sampled_reward": True,
            "entropy_decays_per": "epoch",
            "baseline": "moving_average",
        }
    }

    def __post_init__(self) -> None:
        sizes = ("entity_dim", "time_dim", "relation_dim", "state_dim", "hidden_dim")
        check_at_least_one(self, "path_length", "num_edges", *sizes, "num_snapshots", "num_rollouts", "beam_size")
        check_positive(self, "time_scale")
        check_share(self, "discount", "entropy_decay", "mu")
        check_partial(self, "dropout")
        check_not_negative(self, "entropy_weight")
        check_one_of(self, "time_activation", ACTIVATIONS)
        check_one_of(self, "baseline", BASELINES)
        check_one_of(self, "entropy_decays_per", PERIODS)
        check_one_of(self, "initialisation", INITIALISATIONS)
        if self.baseline == "other_walks" and self.num_rollouts < 2:
            raise ConfigError("model.baseline other_walks needs model.num_rollouts to be at least 2")

    @property
    def node_dim(self) -> int:
        """Size of a node's representation, [e; Φ(Δt)]."""
        return self.entity_dim + self.time_dim
