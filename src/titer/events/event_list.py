"""The result of an event forecast, in ids."""

from dataclasses import dataclass

from torch import Tensor

from titer.events.triples import Triples


@dataclass(frozen=True)
class EventList:
    """The candidates of a window, with their probabilities."""

    triples: Triples
    repeated: Tensor  # (events,) whether the fact occurred before
    number: Tensor  # (events,) how often it occurred before
    probability: Tensor  # (events,) of happening in the window at least once
    expected: Tensor  # (events,) steps of the window in which it happens
    still_holds: Tensor  # (events,) of going on until the last step of the window, for a fact that holds before it
    unlisted: float  # expected number of events that never occurred and are not listed

    def __len__(self) -> int:
        return len(self.triples)

    def __getitem__(self, rows: Tensor) -> "EventList":
        columns = (self.repeated, self.number, self.probability, self.expected, self.still_holds)
        return EventList(self.triples[rows], *(column[rows] for column in columns), unlisted=self.unlisted)
