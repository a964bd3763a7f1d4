"""The settings of the path mixture."""

from dataclasses import dataclass

from titer.models.common.validation import check_at_least_one, check_partial


@dataclass(frozen=True)
class PathMixtureConfig:
    """Settings of ``PathMixture``. The defaults are what does best on the validation splits of all benchmarks."""

    members: int = 1
    """How many mixtures are trained beside each other; the forecast is the mean of their probabilities."""

    # The kinds of evidence, each of which can be left out.
    direct: bool = True
    """Past facts between the subject and the answer, all of them."""
    two_steps: bool = True
    """Paths over two facts, through the subject's latest partners."""
    same_relation: bool = True
    """Paths that end in the question's relation: over two facts, and over three of that relation."""
    trust: bool = True
    """Whether a network weighs the paths to an answer by all that is known of the pair."""
    prior: bool = True
    """Whether embeddings have a say; without them answers are told apart by their past alone."""

    names: bool = True
    """Whether the words of an entity's name have a say beside its embedding; for nothing where names are numbers."""

    # How far paths reach.
    first_edges: int = 32
    """How many of the subject's latest edges can be a first step."""
    second_edges: int = 32
    """How many of a partner's latest edges can be a second step."""
    same_edges: int = 8
    """How many of the latest answers to the question's relation can be a step of ``same_relation``."""
    state_edges: int = 20
    """How many of its latest edges make the state of an entity."""

    # Sizes.
    dim: int = 128
    """Size of embeddings and states."""
    relation_dim: int = 32
    """Size of the relation embeddings that the smaller networks see."""
    hidden_dim: int = 64
    """Size of hidden layers; the trust network's first is twice as wide."""
    rank: int = 32
    """Rank of the interaction between a question's relation and those of a path of two steps."""

    # Regularisation.
    dropout: float = 0.3
    """Share of states and embeddings that is left out in training; half of it in hidden layers."""
    entity_dropout: float = 0.1
    """Share of entities that are treated as if training had never seen them."""
    label_smoothing: float = 0.1
    """Share of the target that is spread over all entities."""

    def __post_init__(self) -> None:
        check_at_least_one(self, "members", "first_edges", "second_edges", "same_edges", "state_edges")
        check_at_least_one(self, "dim", "relation_dim", "hidden_dim", "rank")
        check_partial(self, "dropout", "entity_dropout", "label_smoothing")
