"""Settings of ``TLogic``."""

from dataclasses import dataclass
from typing import ClassVar

from titer.errors import ConfigError
from titer.models.common.validation import (
    check_at_least_one,
    check_not_negative,
    check_one_of,
    check_positive,
    check_share,
)
from titer.models.search_space import Categorical, FloatRange, IntRange, SearchSpace

MAX_LENGTH = 3
"""Maximum number of facts in the body of a rule."""
TRANSITION_RATES = {"exponential": 1.0, "uniform": 0.0}
"""By name of the transition distribution: how fast the probability of an edge decreases with its age."""


@dataclass(frozen=True)
class TLogicConfig:
    """Settings of ``TLogic``. The defaults are the authors' values for ICEWS14, except for ``popularity_weight``."""

    SEARCH: ClassVar[SearchSpace] = {
        "model.num_walks": Categorical((50, 100, 200)),
        "model.min_body_support": IntRange(1, 10),
        "model.top_k": Categorical((10, 20, 50)),
        "model.confidence_weight": FloatRange(0.0, 1.0),
        "model.decay": FloatRange(0.01, 1.0, log=True),
    }

    rule_lengths: tuple[int, ...] = (1, 2, 3)
    """Numbers of facts in the bodies of rules."""
    num_walks: int = 200
    """Number of walks for each relation and rule length."""
    transition: str = "exponential"
    """How a walk chooses its next edge: ``exponential`` prefers recent edges, ``uniform`` does not."""
    num_samples: int = 500
    """Number of body groundings drawn to estimate the confidence of a rule."""
    min_confidence: float = 0.01
    """Rules with a lower confidence are dropped."""
    min_body_support: int = 2
    """Rules with fewer distinct body groundings among the samples are dropped."""
    top_k: int = 20
    """Rules are applied until this many of the best candidates have distinct scores; 0 applies all rules."""
    window: int = 0
    """Number of time steps before a query whose facts can ground a rule; 0 for the whole history."""
    confidence_weight: float = 0.5
    """a: weight of the confidence in the score of a rule; the recency of its grounding has the weight 1 - a."""
    decay: float = 0.1
    """λ: rate at which the recency decreases, per time step."""
    smoothing: float = 0.0
    """Added to the body support in the confidence of a rule, which reduces the scores of rules with little support."""
    popularity_weight: float = 0.0001
    """Weight of the frequency of an answer with the relation, for answers that no rule leads to. With 0, as in the
    authors' code, such answers are candidates only if the query has no others."""

    def __post_init__(self) -> None:
        lengths = self.rule_lengths
        if not lengths or len(set(lengths)) < len(lengths) or not set(lengths) <= set(range(1, MAX_LENGTH + 1)):
            raise ConfigError(
                f"model.rule_lengths must be different numbers from 1 to {MAX_LENGTH}, not {list(lengths)}"
            )
        check_at_least_one(self, "num_walks", "num_samples", "min_body_support")
        check_one_of(self, "transition", TRANSITION_RATES)
        check_share(self, "min_confidence", "confidence_weight", "popularity_weight")
        check_positive(self, "decay")
        check_not_negative(self, "top_k", "window", "smoothing")
