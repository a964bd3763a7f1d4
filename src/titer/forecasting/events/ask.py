"""Answers to questions about events, in words."""

import torch

from titer.errors import TiterError
from titer.events.event_list import EventList
from titer.events.index import MAX_AHEAD
from titer.events.model import EventModel
from titer.forecasting.events.causes import causes_of
from titer.forecasting.events.results import (
    EventForecast,
    Likelihood,
    LikelyEvent,
    Quantile,
    SurvivalStep,
    WhenForecast,
)
from titer.forecasting.events.select import LASTING, Selection, forecast_events, forecast_one
from titer.forecasting.events.windows import Window, Within
from titer.forecasting.events.wording import MIN_PROBABILITY, meaning, rate_words
from titer.forecasting.forecast import PastFact, Reason
from titer.forecasting.limits import check_limit
from titer.forecasting.predictor import EncodedQuestion, Predictor
from titer.forecasting.question import When
from titer.forecasting.wording.describe import horizon
from titer.models.evidence import Edge
from titer.suggestions import hint

KINDS = ("repeats", "continues", "begins", "ends", "new")
SORTS = ("probability", "lift")
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Levels of the quantiles of the time until an event."""


def ask_events(
    predictor: Predictor,
    events: EventModel,
    *,
    subject: str | None = None,
    relation: str | None = None,
    object: str | None = None,
    entity: str | None = None,
    start: When | None = None,
    within: Within = 1,
    top: int = 50,
    sort: str = "probability",
    kind: str | None = None,
    explain: int = 0,
) -> EventForecast:
    """Return the most likely events of a window; see ``Forecaster.events`` for the arguments."""
    check_limit("top", top, 1)
    check_limit("explain", explain, 0)
    for name, value, known in (("sort", sort, SORTS), ("kind", kind, (None, *KINDS))):
        if value not in known:
            raise TiterError(f"unknown {name} {value!r}{hint(str(value), list(filter(None, known)))}")
    if entity is not None and (subject is not None or object is not None):
        raise TiterError("give an entity, or a subject or an object, not both")
    names = {"subject": subject, "object": object, "entity": entity}
    ids = {name: None if given in (None, "?") else predictor.entities.find(given) for name, given in names.items()}
    selection = Selection(**ids, relation=None if relation in (None, "?") else predictor.relations.find(relation))
    window = Window.of(predictor, start, within)
    listed, holds, unlisted = forecast_events(predictor, events, window, selection)
    made = _Wording(predictor, events, window, listed, holds, kind)
    order = made.order(sort, top)
    vocabulary, axis = predictor.vocabulary, predictor.axis

    def named(place: int | None) -> str | None:
        return None if place is None else vocabulary.entities[place]

    return EventForecast(
        subject=named(selection.subject),
        relation=None if selection.relation is None else vocabulary.relations[selection.relation],
        object=named(selection.object),
        entity=named(selection.entity),
        start=axis.label(window.start),
        end=axis.label(window.end),
        steps=window.steps,
        window=window.words(axis),
        horizon=horizon(window.start, predictor.history, axis),
        sort=sort,
        kind=kind,
        expected=made.expected(unlisted),
        events=tuple(made.event(row, rank, explain) for rank, row in enumerate(order, start=1)),
    )


def ask_likely(
    predictor: Predictor,
    events: EventModel,
    subject: str,
    relation: str,
    object: str,
    *,
    within: Within = 1,
    start: When | None = None,
    explain: int = 0,
) -> Likelihood:
    """Return the probability of one event; see ``Forecaster.likely`` for the arguments."""
    check_limit("explain", explain, 0)
    window = Window.of(predictor, start, within)
    found = forecast_one(predictor, events, window, *_ids(predictor, subject, relation, object))
    event = _Wording(predictor, events, window, found.listed, found.holds, None).event(0, 1, explain)
    axis = predictor.axis
    return Likelihood(
        start=axis.label(window.start),
        end=axis.label(window.end),
        steps=window.steps,
        window=window.words(axis),
        horizon=horizon(window.start, predictor.history, axis),
        event=event,
        meaning=meaning(event.probability, event.kind, axis.when(window.end)),
    )


def ask_when(
    predictor: Predictor,
    events: EventModel,
    subject: str,
    relation: str,
    object: str,
    *,
    start: When | None = None,
    explain: int = 0,
) -> WhenForecast:
    """Return the distribution of the time until an event; see ``Forecaster.when`` for the arguments."""
    check_limit("explain", explain, 0)
    axis = predictor.axis
    window = Window.of(predictor, start, MAX_AHEAD)
    found = forecast_one(predictor, events, window, *_ids(predictor, subject, relation, object))
    # The question about a fact that holds is when it ends.
    kind = "ends" if bool(found.holds) else None
    made = _Wording(predictor, events, window, found.listed, found.holds, kind)
    event = made.event(0, 1, explain)
    curve, before = list[SurvivalStep](), 0.0
    for ahead, (at, by) in enumerate(zip(found.at, found.by, strict=True), start=1):
        step = window.start + ahead - 1
        usual = float(made.usually(ahead)[0])
        curve.append(SurvivalStep(axis.label(step), axis.words(step), ahead, by - before, by, 1 - by, at, usual))
        before = by
    return WhenForecast(
        start=axis.label(window.start),
        end=axis.label(window.end),
        steps=window.steps,
        window=window.words(axis),
        horizon=horizon(window.start, predictor.history, axis),
        event=event,
        meaning=meaning(event.probability, event.kind, axis.when(window.end), window.words(axis)),
        quantiles=tuple(_quantile(level, curve) for level in LEVELS),
        curve=tuple(curve),
    )


def _quantile(level: float, curve: list[SurvivalStep]) -> Quantile:
    found = next((step for step in curve if step.by >= level), None)
    return Quantile(level, None, None, None) if found is None else Quantile(level, found.time, found.date, found.ahead)


def _ids(predictor: Predictor, subject: str, relation: str, object: str) -> tuple[int, int, int]:
    return predictor.entities.find(subject), predictor.relations.find(relation), predictor.entities.find(object)


class _Wording:
    """Turns listed events into words."""

    def __init__(
        self,
        predictor: Predictor,
        events: EventModel,
        window: Window,
        listed: EventList,
        holds: torch.Tensor,
        kind: str | None,
    ):
        self.predictor, self.events, self.window, self.listed, self.kind = predictor, events, window, listed, kind
        self.elapsed = max(window.origin - predictor.history.first_time, 1)
        self.holds = holds
        self.lasting = events.lasting[listed.triples.relation] >= LASTING
        still = torch.where(holds, listed.still_holds, listed.probability)
        self.probability = 1 - still if kind == "ends" else still
        self.usual = self.usually(window.steps)

    def usually(self, steps: int) -> torch.Tensor:
        """Return the probability of each event in the first steps of the window at the usual rate. (events,)"""
        rate = (self.listed.number / self.elapsed).clamp(max=1.0)
        happens = 1 - (1 - rate) ** steps
        if not bool(self.holds.any()):
            return happens
        still = self.usually_continues() ** (self.window.first + steps - 1)
        return torch.where(self.holds, 1 - still if self.kind == "ends" else still, happens)

    def usually_continues(self) -> torch.Tensor:
        """Return how often a fact of the relation of each event that held still did one step later. (events,)"""
        share, number = self.events.indexed(self.predictor.history).continuing(self.elapsed)
        return torch.where(number > 0, share, self.events.lasting)[self.listed.triples.relation]

    def order(self, sort: str, top: int) -> list[int]:
        """Return the rows to list, in order."""
        value, chosen = self.probability, self._chosen()
        if sort == "lift":
            chosen = chosen & self.listed.repeated & (self.probability >= MIN_PROBABILITY) & (self.usual > 0)
            value = self.probability / self.usual.clamp(min=1e-9)
            # Nothing is unusual about a fact that goes on, so these are listed only if they are asked for.
            chosen = chosen & ~self.holds if self.kind is None else chosen
        rows = chosen.nonzero()[:, 0]
        best = torch.sort(value[rows], descending=True, stable=True).indices[:top]
        return rows[best].tolist()

    def expected(self, unlisted: float) -> float:
        """Return the expected number of events of the kind: the candidates, and new facts that are not among them."""
        listed = float(self.probability[self._chosen()].sum())
        return listed + unlisted if self.kind in (None, "new") else listed

    def _chosen(self) -> torch.Tensor:
        repeated = self.listed.repeated
        match self.kind:
            case "repeats":
                return repeated & ~self.lasting
            case "continues" | "ends":
                return self.holds
            case "begins":
                return self.lasting & ~self.holds
            case "new":
                return ~repeated
            case _:
                return torch.ones_like(repeated)

    def event(self, row: int, rank: int, explain: int) -> LikelyEvent:
        """Return one event in words."""
        triples, vocabulary, axis = self.listed.triples, self.predictor.vocabulary, self.predictor.axis
        triple = int(triples.subject[row]), int(triples.relation[row]), int(triples.object[row])
        probability, usual = float(self.probability[row]), float(self.usual[row])
        times, kind = round(float(self.listed.number[row])), self._kind(row)
        lift = probability / usual if times and usual > 0 else None
        causes, against, reasons = self._evidence(triple, kind, explain) if explain else ((), (), ())
        return LikelyEvent(
            rank=rank,
            subject=vocabulary.entities[triple[0]],
            relation=vocabulary.relations[triple[1]],
            object=vocabulary.entities[triple[2]],
            probability=probability,
            expected=float(self.listed.expected[row]),
            usual=usual,
            lift=lift,
            kind=kind,
            rate=rate_words(times, self.elapsed, usual, lift, kind, axis),
            times=times,
            last=self._last(triple, times),
            causes=causes,
            against=against,
            reasons=reasons,
        )

    def _kind(self, row: int) -> str:
        if self.kind is not None:
            return self.kind
        if bool(self.lasting[row]):
            return "continues" if bool(self.holds[row]) else "begins"
        return "repeats" if bool(self.listed.repeated[row]) else "new"

    def _last(self, triple: tuple[int, int, int], times: int) -> PastFact | None:
        if not times:
            return None
        index = self.events.indexed(self.predictor.history).index
        subject, relation, object = (torch.tensor([value], device=self.holds.device) for value in triple)
        key = (subject * index.num_relations + relation) * index.num_entities + object
        state = index.by_triple.state_of(key, torch.full_like(key, self.window.origin - index.first_time))
        edge = Edge(*triple, self.window.origin - int(state.age))
        return self.predictor.describe(edge, self.window.start)

    def _evidence(self, triple: tuple[int, int, int], kind: str, limit: int) -> tuple[tuple[Reason, ...], ...]:
        """Return what raises the probability, what lowers that of an end, and the model's evidence for the object."""
        raising, lowering = causes_of(self.predictor, self.events, triple, self.window, limit)
        if kind == "ends":  # the intensity is that of the fact, and the model's evidence is for the fact
            return lowering, raising, ()
        return raising, (), self._reasons(triple, limit)

    def _reasons(self, triple: tuple[int, int, int], limit: int) -> tuple[Reason, ...]:
        """Return the model's evidence for the object."""
        question = EncodedQuestion(triple[0], triple[1], self.window.origin)
        try:
            return self.predictor.explain(question, triple[2], limit, self.window.start).reasons
        except TiterError:  # the model does not consider the object
            return ()
