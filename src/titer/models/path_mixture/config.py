"""Settings of the path mixture."""

from dataclasses import dataclass
from typing import ClassVar

from titer.models.common.validation import check_at_least_one, check_not_negative, check_partial
from titer.models.search_space import Categorical, FloatRange, SearchSpace


@dataclass(frozen=True)
class PathMixtureConfig:
    """Settings of ``PathMixture``. The defaults did best on the validation splits of all benchmarks."""

    SEARCH: ClassVar[SearchSpace] = {
        "training.learning_rate": FloatRange(5e-4, 1e-2, log=True),
        "training.batch_size": Categorical((256, 512, 1024)),
        "training.weight_decay": Categorical((0.0, 3e-5, 1e-4)),
        "model.dim": Categorical((64, 128, 256)),
        "model.first_edges": Categorical((16, 32, 64)),
        "model.dropout": FloatRange(0.0, 0.6),
        "model.entity_dropout": FloatRange(0.0, 0.4),
        "model.label_smoothing": FloatRange(0.0, 0.3),
    }

    members: int = 1
    """Number of mixtures that are trained side by side; the forecast is the mean of their probabilities."""

    # The kinds of evidence, each of which can be switched off.
    direct: bool = True
    """Whether past facts between the subject and the answer count."""
    two_hops: bool = True
    """Whether paths over two facts count, through the entities that the subject had its latest facts with."""
    same_relation: bool = True
    """Whether paths that end in the relation of the query count: over two facts, and over three of that relation."""
    trust: bool = True
    """Whether a network weighs the paths to an answer by the past of subject and answer."""
    prior: bool = True
    """Whether entities have embeddings; without, answers are distinguished by past facts alone."""

    names: bool = True
    """Whether the words in an entity's name contribute to its embedding. Of no use where names are numbers."""

    # The reach of paths.
    past_edges: int = 8192
    """Maximum number of the subject's latest edges whose facts count as paths of one hop, with all earlier facts of the
    same subject, relation and object. Bounds the cost of subjects with very many facts."""
    first_edges: int = 32
    """Maximum number of the subject's latest edges that serve as a first hop."""
    second_edges: int = 32
    """Maximum number of latest edges that serve as a second hop, for each first hop."""
    same_edges: int = 8
    """Maximum number of latest answers to the relation of the query that serve as a hop of ``same_relation`` paths."""
    state_edges: int = 20
    """Maximum number of latest edges from which the state of an entity is computed."""

    # Sizes.
    dim: int = 128
    """Size of embeddings and states."""
    relation_dim: int = 32
    """Size of the relation embeddings in the smaller networks."""
    hidden_dim: int = 64
    """Size of hidden layers; the first layer of the trust network has twice this size."""
    rank: int = 32
    """Rank of the interaction between the relation of the query and the relations of a path of two hops."""

    # Regularisation.
    dropout: float = 0.3
    """Dropout rate of states and embeddings; hidden layers have half of it."""
    entity_dropout: float = 0.1
    """Share of entities whose embedding is zeroed in training, as it is for unseen entities."""
    label_smoothing: float = 0.1
    """Share of the target probability that is spread over all entities."""

    # Size of the softmax in training.
    exact_entities: int = 65_536
    """Number of entities up to which the loss in training is exact; with more, candidates are sampled, and an
    optimisation step updates the embeddings of those entities alone that it reads."""
    sampled_entities: int = 4096
    """Number of sampled candidates, besides reached and true answers, that all queries of a time step in a batch share;
    all known entities, if there are no more."""

    def __post_init__(self) -> None:
        check_at_least_one(self, "members", "past_edges", "first_edges", "second_edges", "same_edges", "state_edges")
        check_at_least_one(self, "dim", "relation_dim", "hidden_dim", "rank", "sampled_entities")
        check_not_negative(self, "exact_entities")
        check_partial(self, "dropout", "entity_dropout", "label_smoothing")
