"""Settings of TITer. Where the text of the paper and the code behind its results differ, there is a setting."""

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
from titer.models.search_space import LEARNING, Categorical, FloatRange, IntRange, SearchSpace
from titer.models.titer.recipes import PRESETS

ACTIVATIONS = ("cos", "sigmoid", "tanh", "relu")
BASELINES = ("standardised", "moving_average", "other_walks")
PERIODS = ("batch", "epoch")
INITIALISATIONS = ("normal", "xavier")
TIME_INITIALISATIONS = ("scales", "xavier")
START_RELATIONS = ("own", "self_loop")


@dataclass(frozen=True)
class TITerConfig:
    """Settings of ``TITer``.

    The defaults are the values with the best results on validation splits. ``preset`` selects a recipe: ``paper``, what
    the text describes; ``released``, what the code of the authors does; or ``tuned``, the defaults.
    """

    SEARCH: ClassVar[SearchSpace] = {
        **LEARNING,
        "training.weight_decay": Categorical((0.0, 1e-6, 1e-5, 1e-4)),
        "model.path_length": IntRange(2, 4),
        "model.num_edges": Categorical((30, 50, 100)),
        "model.dropout": FloatRange(0.0, 0.5),
        "model.discount": FloatRange(0.8, 1.0),
        "model.entropy_weight": FloatRange(1e-3, 1e-1, log=True),
        "model.entropy_decays_per": Categorical(PERIODS),
    }

    # The walk.
    path_length: int = 3
    """L: number of hops of a walk."""
    num_edges: int = 50
    """N: maximum number of candidate edges per hop. The latest edges of the node are taken."""
    strictly_back: bool = True
    """Whether every hop must go back in time (t' < t_l), or may also use facts of the node's own time (t' ≤ t_l)."""
    may_stay_at_first: bool = False
    """Whether the first hop may be a self-loop although the subject has past facts."""
    loop_counts_as_edge: bool = False
    """Whether the self-loop is one of the N candidates, so that N - 1 edges remain, or is added to N edges. At a first
    hop that must not stay, there are N edges in both cases."""
    start_relation: str = "own"
    """r_0, the relation of the path encoder's first input: a relation of its ``own``, or that of the ``self_loop``."""

    # The policy.
    entity_dim: int = 80
    """d_e: size of the static part of an entity's representation."""
    time_dim: int = 20
    """d_t: size of the relative time encoding Φ(Δt)."""
    relation_dim: int = 100
    """d_r: size of a relation embedding."""
    state_dim: int = 100
    """Size of the state of the path encoder."""
    hidden_dim: int = 100
    """Size of the hidden layer between the state and the action scores."""
    relative_time: bool = True
    """Whether a node has a relative time encoding. Without it, the whole representation is static (an ablation)."""
    time_activation: str = "cos"
    """σ in Φ(Δt) = σ(w Δt + b): ``cos``, ``sigmoid``, ``tanh`` or ``relu``."""
    time_scale: float = 1.0
    """Factor that converts a number of time steps to Δt."""
    weighted_scoring: bool = True
    """Whether β weights node scores against edge scores. Without it, β is 0.5 (an ablation)."""
    initialisation: str = "normal"
    """Initial weights. ``normal``: standard normal embeddings, and the defaults of torch for all other weights.
    ``xavier``: Xavier uniform for all of them."""
    time_initialisation: str = "scales"
    """Initial w of Φ. ``scales``: 1 / 10^x with x spread evenly from 0 to 9, which covers all scales of time.
    ``xavier``: Xavier uniform. The initial b is 0."""
    freeze_state_on_self_loop: bool = False
    """Whether a self-loop leaves the state of the path encoder unchanged."""

    dropout: float = 0.0
    """Dropout rate of the path encoder's inputs and of the hidden layer."""

    # The reward.
    shaped_reward: bool = True
    """Whether the reward of a hit is 1 + p_Δt, or 1."""
    num_snapshots: int = 300
    """K: number of time steps before the query that the Dirichlet distributions cover."""
    sampled_reward: bool = False
    """Whether p is sampled from Dirichlet(α) for every walk, or is the mean of the distribution."""
    leave_one_out: bool = False
    """Whether α maximises the leave-one-out likelihood instead of the likelihood."""

    # REINFORCE.
    discount: float = 0.95
    """γ: factor of the reward for each hop between an action and the end of its walk."""
    num_rollouts: int = 1
    """Number of walks sampled for each training query."""
    entropy_weight: float = 0.01
    """Weight of the policy's entropy in the loss at the beginning of training."""
    entropy_decay: float = 0.9
    """Factor by which the entropy weight decays."""
    entropy_decays_per: str = "batch"
    """When the entropy weight decays: after every ``batch``, or after every ``epoch``."""
    baseline: str = "standardised"
    """How returns become advantages. ``standardised``: subtract the mean of the batch and divide by its standard
    deviation; a moving average that is subtracted before, as in the code of MINERVA, cancels out. ``moving_average``:
    subtract a moving average over batches. ``other_walks``: subtract the mean return of the other walks of the same
    query, so that a rare hit is not compared with the returns of easy queries."""

    # The search.
    beam_size: int = 100
    """Number of paths that beam search keeps after each hop."""
    final_beam: bool = False
    """Whether only the ``beam_size`` best paths after the last hop lead to answers, or every path that continues one
    of the beam."""
    inductive_mean: bool = True
    """Whether the inductive mean represents unseen entities."""
    mu: float = 0.1
    """μ: share of an unseen entity's representation that remains after an update by new facts or by a query."""

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = PRESETS

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
        check_one_of(self, "time_initialisation", TIME_INITIALISATIONS)
        check_one_of(self, "start_relation", START_RELATIONS)
        if self.baseline == "other_walks" and self.num_rollouts < 2:
            raise ConfigError("model.baseline other_walks requires model.num_rollouts of at least 2")
        if self.loop_counts_as_edge and self.num_edges < 2:
            raise ConfigError("model.loop_counts_as_edge requires model.num_edges of at least 2")

    @property
    def node_dim(self) -> int:
        """Size of the representation of a node, [e; Φ(Δt)]."""
        return self.entity_dim + self.time_dim
