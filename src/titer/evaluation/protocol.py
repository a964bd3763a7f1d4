"""The choices that decide what a number means, each of them named."""

from dataclasses import asdict, dataclass
from enum import StrEnum

from titer.errors import ConfigError
from titer.graph.filters import Filter


class Ties(StrEnum):
    """Which rank an answer gets among others with the same score."""

    REALISTIC = "realistic"
    """The mean of the best and the worst: what random order gives on average."""
    OPTIMISTIC = "optimistic"
    """The best: it stands first among its equals."""
    PESSIMISTIC = "pessimistic"
    """The worst: it stands last among its equals."""


class Unreachable(StrEnum):
    """Which rank an answer gets that the model has nothing to say about."""

    TIED = "tied"
    """Below all answers that the model reached, tied with all others that it did not."""
    LAST = "last"
    """The number of entities."""


class Past(StrEnum):
    """Which facts a question at test time may look back on."""

    ROLLING = "rolling"
    """Every fact before the question's own time."""
    FROZEN_AT_TRAIN = "frozen-at-train"
    """Only the training split."""
    FROZEN_AT_VALID = "frozen-at-valid"
    """Only the training and the validation split."""


@dataclass(frozen=True)
class Protocol:
    """How forecasts are measured."""

    filter: Filter = Filter.TIME_AWARE
    ties: Ties = Ties.REALISTIC
    unreachable: Unreachable = Unreachable.TIED
    past: Past = Past.ROLLING

    def to_dict(self) -> dict[str, str]:
        """For JSON."""
        return {key: value.value for key, value in asdict(self).items()}

    @property
    def name(self) -> str | None:
        """The name of this convention, if it has one."""
        return next((name for name, protocol in CONVENTIONS.items() if protocol == self), None)

    def __str__(self) -> str:
        return f"{self.filter} filter, {self.ties} ties, unreachable {self.unreachable}, {self.past} history"


CONVENTIONS = {
    "realistic": Protocol(),
    # How the TITer paper's numbers were made.
    "paper": Protocol(Filter.TIME_AWARE, Ties.OPTIMISTIC, Unreachable.LAST, Past.ROLLING),
}


def convention(name: str) -> Protocol:
    """A protocol by its name."""
    if name not in CONVENTIONS:
        raise ConfigError(f"there is no convention {name!r}; there are {', '.join(CONVENTIONS)}")
    return CONVENTIONS[name]
