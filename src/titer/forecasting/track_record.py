"""Event forecasts of past windows, compared with what happened."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from titer.data.dataset import Dataset
from titer.errors import TiterError
from titer.events.index import Triples
from titer.events.metrics import EventBin, reliability
from titer.events.model import EventModel
from titer.forecasting.events.select import Selection, forecast_events, forecast_one
from titer.forecasting.events.windows import Window
from titer.forecasting.forecast import RESPONSE
from titer.forecasting.predictor import Predictor
from titer.graph.sorted_edges import LAST_STEP, TIME_BITS

UNLIKELY = 0.05
"""An event that happened in spite of a smaller probability is a surprise."""
MAX_SURPRISES = 10


@dataclass(frozen=True)
class CheckedEvent:
    """An event of a past forecast, and whether it happened."""

    subject: str
    """Name of the subject."""
    relation: str
    """Name of the relation."""
    object: str
    """Name of the object."""
    probability: float
    """Probability that the forecast gave to it."""
    happened: bool
    """Whether it happened in the window."""

    __pydantic_config__: ClassVar[dict[str, Any]] = RESPONSE


@dataclass(frozen=True)
class CheckedForecast:
    """The event forecast of a past window, compared with what happened. Only facts before the window were used."""

    start: str
    """The first step of the window, as a sortable date or a number."""
    end: str
    """The last step of the window."""
    steps: int
    """Number of time steps in the window."""
    window: str
    """The window in words."""
    events: int
    """Number of different events that happened in the window."""
    expected: float
    """Number of different events that the forecast expected."""
    hits: int
    """How many of the most likely events happened."""
    expected_hits: float
    """How many of them were expected to happen: the sum of their probabilities."""
    top: tuple[CheckedEvent, ...]
    """The most likely events, most likely first."""
    surprises: tuple[CheckedEvent, ...]
    """Events that happened although they were unlikely, those of the entities with most facts first."""
    reliability: tuple[EventBin, ...]
    """All candidates in bins by probability, with the share that happened."""

    __pydantic_config__: ClassVar[dict[str, Any]] = RESPONSE

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "CheckedForecast":
        """Return the forecast that ``to_dict`` was called on.

        Args:
            stored: Its fields.

        Raises:
            KeyError: A field is missing.
            TypeError: A field is unknown.
        """
        fields = dict(stored)
        for name, kind in (("top", CheckedEvent), ("surprises", CheckedEvent), ("reliability", EventBin)):
            fields[name] = tuple(kind(**one) for one in stored[name])
        return cls(**fields)


def past_starts(dataset: Dataset, last_time: int, steps: int, limit: int) -> list[int]:
    """Return the first steps of the latest windows whose facts had no influence on training, latest first.

    The windows follow each other from the end of the validation split, so that new facts do not move them.

    Args:
        dataset: The dataset. Its training and validation splits are left out.
        last_time: The time step of the last known fact.
        steps: The length of the windows.
        limit: How many windows to return at most.
    """
    used = max((int(part.time.max()) for part in (dataset.train, dataset.valid) if len(part)), default=-1)
    return list(range(used + 1, last_time - steps + 2, steps))[::-1][:limit]


@torch.inference_mode()
def check_window(predictor: Predictor, events: EventModel, window: Window, top: int) -> CheckedForecast:
    """Forecast the events of a past window with the facts before it, and compare them with the facts in it."""
    axis, last = predictor.axis, predictor.last_time
    if window.end > last:
        known = axis.words(last)
        raise TiterError(f"{window.words(axis)} is not over: the last known fact is of {known}")
    listed, _, unlisted = forecast_events(predictor, events, window, Selection())
    keys, happened = _keys(predictor, listed.triples), _happened(predictor, window)
    hit = torch.isin(keys, happened)
    order = torch.sort(listed.probability, descending=True, stable=True).indices[:top]
    listed_top = [
        _event(predictor, key, probability, happened=was)
        for key, probability, was in zip(
            keys[order].tolist(), listed.probability[order].tolist(), hit[order].tolist(), strict=True
        )
    ]
    return CheckedForecast(
        start=axis.label(window.start),
        end=axis.label(window.end),
        steps=window.steps,
        window=window.words(axis),
        events=len(happened),
        expected=float(listed.probability.sum()) + unlisted,
        hits=sum(one.happened for one in listed_top),
        expected_hits=sum(one.probability for one in listed_top),
        top=tuple(listed_top),
        surprises=_surprises(predictor, events, window, keys[hit], listed.probability[hit], happened),
        reliability=tuple(reliability(listed.probability, hit)),
    )


def _keys(predictor: Predictor, triples: Triples) -> Tensor:
    """Return one number for each triple."""
    vocabulary = predictor.vocabulary
    pairs = triples.subject.long() * vocabulary.num_relations + triples.relation
    return pairs * vocabulary.num_entities + triples.object


def _ids(predictor: Predictor, key: int) -> tuple[int, int, int]:
    pair, object = divmod(key, predictor.vocabulary.num_entities)
    return *divmod(pair, predictor.vocabulary.num_relations), object


def _event(predictor: Predictor, key: int, probability: float, *, happened: bool) -> CheckedEvent:
    subject, relation, object = _ids(predictor, key)
    names = predictor.vocabulary
    return CheckedEvent(
        names.entities[subject], names.relations[relation], names.entities[object], probability, happened
    )


def _happened(predictor: Predictor, window: Window) -> Tensor:
    """Return the keys of the facts in a window, each once."""
    history = predictor.history
    key, relation, object = history.key[:-1], history.relation[:-1], history.object[:-1]
    elapsed = (key & LAST_STEP) + history.first_time
    rows = (relation < predictor.vocabulary.num_relations) & (elapsed >= window.start) & (elapsed <= window.end)
    return torch.unique(_keys(predictor, Triples(key[rows] >> TIME_BITS, relation[rows], object[rows])))


def _surprises(
    predictor: Predictor, events: EventModel, window: Window, listed: Tensor, probability: Tensor, happened: Tensor
) -> tuple[CheckedEvent, ...]:
    """Return unlikely events that happened; events of frequent entities first, since readers know these."""
    known = dict(zip(listed.tolist(), probability.tolist(), strict=True))
    unlikely: list[int] = [key for key in happened.tolist() if known.get(key, 0.0) < UNLIKELY]
    subjects = predictor.history.key[:-1] >> TIME_BITS  # of directed edges, so that each entity has all its facts
    number: list[int] = torch.bincount(subjects, minlength=predictor.vocabulary.num_entities).tolist()
    ids = {key: _ids(predictor, key) for key in unlikely}
    unlikely.sort(key=lambda key: -min(number[ids[key][0]], number[ids[key][2]]))
    found = list[CheckedEvent]()
    for key in unlikely:
        # An event that was not listed has a probability all the same.
        value = known[key] if key in known else forecast_one(predictor, events, window, *ids[key]).by[-1]
        if value < UNLIKELY:
            found.append(_event(predictor, key, value, happened=True))
        if len(found) == MAX_SURPRISES:
            break
    return tuple(found)
