"""The evaluation protocol: every choice that affects a metric, by name."""

from dataclasses import asdict, dataclass
from enum import StrEnum

from titer.errors import ConfigError
from titer.graph.filters import Filter
from titer.suggestions import hint


class Ties(StrEnum):
    """The rank of an answer among others with the same score."""

    REALISTIC = "realistic"
    """The mean of the best and the worst place, which is the expected rank in random order."""
    OPTIMISTIC = "optimistic"
    """The best place."""
    PESSIMISTIC = "pessimistic"
    """The worst place."""


class Unreachable(StrEnum):
    """The rank of an answer that the model does not score (a score of minus infinity)."""

    TIED = "tied"
    """Below all answers that the model scores, tied with all others that it does not."""
    LAST = "last"
    """The number of entities."""
    MISSED = "missed"
    """One billion, so that the answer adds nothing to MRR and Hits@k."""


class Past(StrEnum):
    """Which facts the history of a query contains at test time."""

    ROLLING = "rolling"
    """Every fact before the query's own time."""
    FROZEN_AT_TRAIN = "frozen-at-train"
    """Only the training split."""
    FROZEN_AT_VALID = "frozen-at-valid"
    """Only the training and validation splits."""


@dataclass(frozen=True)
class Protocol:
    """How the true answers of queries are ranked.

    Attributes:
        filter: Which other true answers are removed from the ranking.
        ties: The rank of an answer among others with the same score.
        unreachable: The rank of an answer that the model does not score.
        past: Which facts the history of a query contains.
    """

    filter: Filter = Filter.TIME_AWARE
    ties: Ties = Ties.REALISTIC
    unreachable: Unreachable = Unreachable.TIED
    past: Past = Past.ROLLING

    def to_dict(self) -> dict[str, str]:
        """Return the choices by name, for JSON."""
        return {key: value.value for key, value in asdict(self).items()}

    @property
    def name(self) -> str | None:
        """The name of the convention with these choices; None if there is none."""
        return next((name for name, protocol in CONVENTIONS.items() if protocol == self), None)

    def __str__(self) -> str:
        return f"{self.filter} filter, {self.ties} ties, unreachable {self.unreachable}, {self.past} history"


CONVENTIONS = {
    "realistic": Protocol(),
    # The convention of the TITer paper.
    "paper": Protocol(Filter.TIME_AWARE, Ties.OPTIMISTIC, Unreachable.LAST, Past.ROLLING),
}


def convention(name: str) -> Protocol:
    """Return the protocol of a named convention.

    Args:
        name: ``realistic`` or ``paper``.

    Returns:
        The protocol.

    Raises:
        ConfigError: If there is no such convention.
    """
    if name not in CONVENTIONS:
        raise ConfigError(f"unknown convention {name!r}{hint(name, list(CONVENTIONS))}")
    return CONVENTIONS[name]
