"""Questions about events: what happens, whether, and when."""

from collections.abc import Sequence
from copy import copy
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from titer.data.dataset import Dataset
from titer.forecasting.changes import Change
from titer.forecasting.events.ask import ask_events, ask_likely, ask_when
from titer.forecasting.events.past import latest_facts
from titer.forecasting.events.results import EventForecast, Likelihood, WhenForecast
from titer.forecasting.events.windows import Window
from titer.forecasting.fact_input import AnyFact
from titer.forecasting.forecast import PastFact
from titer.forecasting.limits import check_limit
from titer.forecasting.live_model import LiveModel
from titer.forecasting.predictor import Predictor
from titer.forecasting.question import When
from titer.forecasting.track_record import CheckedForecast, check_window
from titer.models.base import Model
from titer.runs.events import event_model_of
from titer.runs.run import Run
from titer.training.layout import EVENTS

if TYPE_CHECKING:
    from titer.events.model import EventModel


MAX_KEPT = 500
"""Number of likelihoods that are kept for the next question."""


class EventForecaster(LiveModel):
    """The part of a forecaster that answers questions about events, with an event model that is trained when needed."""

    def __init__(self, model: Model, dataset: Dataset, store: str | Path | None = None, *, run: Run | None = None):
        """Use a model in memory.

        Args:
            model: The trained model.
            dataset: The dataset that the model was trained on. All its splits are known facts.
            store: Database of added facts: the path of an SQLite file, or the URL of a database. None for no store.
            run: The run directory that the model comes from, if there is one.
        """
        self._event_lock = Lock()
        self._events: EventModel | None = None
        self._kept: dict[tuple[object, ...], Likelihood] = {}
        self._kept_of: tuple[Predictor, EventModel] | None = None
        super().__init__(model, dataset, store, run=run)

    def events(
        self,
        subject: str | None = None,
        relation: str | None = None,
        object: str | None = None,
        *,
        entity: str | None = None,
        start: When | None = None,
        within: str | int = 1,
        top: int = 50,
        sort: str = "probability",
        kind: str | None = None,
        explain: int = 0,
    ) -> EventForecast:
        """Return the most likely events of the next time steps: all, or those with some subject, relation or object.

        Only facts before the first step of the window are used. The event model of the run is trained when first
        needed, and kept in the run directory.

        Args:
            subject: Only events with this subject; None for any.
            relation: Only events with this relation; None for any.
            object: Only events with this object; None for any.
            entity: Only events with this entity, as subject or object; None for any.
            start: The first step, as a date or number in the form of the data. None means the step after the last
                known fact.
            within: Length of the window: a number of time steps, or text with a unit such as ``"7d"``; at most 30
                steps.
            top: How many events to return at most.
            sort: ``"probability"``, or ``"lift"`` for what is most unusual: probability over the usual rate. Facts that
                continue are then listed only with ``kind="continues"``.
            kind: Only events of one kind: ``"repeats"``, ``"continues"``, ``"begins"``, ``"ends"`` or ``"new"``. None
                for all kinds but "ends".
            explain: How many pieces of evidence of each sort to give for each event at most.

        Returns:
            The events, with probability, expected count, usual rate and lift.

        Raises:
            UnknownNameError: A name is unknown or ambiguous; the error has suggestions.
            TiterError: The window, ``sort``, ``kind`` or a limit is invalid.
        """
        return ask_events(
            *self._with_events(), subject=subject, relation=relation, object=object, entity=entity, start=start,
            within=within, top=top, sort=sort, kind=kind, explain=explain,
        )  # fmt: skip

    def likely(
        self,
        subject: str,
        relation: str,
        object: str,
        within: str | int = 1,
        *,
        start: When | None = None,
        explain: int = 0,
        without: Sequence[AnyFact] = (),
        with_: Sequence[AnyFact] = (),
    ) -> Likelihood:
        """Return how likely one event is to happen in a window of time steps.

        For a lasting fact that holds in the step before the window, this is whether it still holds in the last step.

        Args:
            subject: Name of the subject.
            relation: Name of the relation.
            object: Name of the object.
            within: Length of the window, as in ``events``.
            start: The first step of the window, as in ``events``.
            explain: How many pieces of evidence of each sort to give at most.
            without: Facts to leave out of the history, as in ``what_if``.
            with_: Facts to add to the history, as in ``what_if``.

        Returns:
            The probability that the event happens at least once, or that the fact still holds, with the usual rate.

        Raises:
            UnknownNameError: A name is unknown or ambiguous; the error has suggestions.
            UnknownFactError: A fact to leave out does not exist; the error has suggestions.
            TiterError: The window or ``explain`` is invalid, or a fact is not before the window.
        """
        words = (subject, relation, object)
        changed, first = self._changed_events(start, without, with_)
        if without or with_:
            return ask_likely(*changed, *words, within=within, start=first, explain=explain)
        kept = self._kept_likelihoods(changed)
        key = (*words, within, start, explain)
        found = kept.get(key)
        if found is None:
            found = ask_likely(*changed, *words, within=within, start=first, explain=explain)
            with self._event_lock:
                if len(kept) >= MAX_KEPT:
                    del kept[next(iter(kept))]
                kept[key] = found
        return found

    def when(
        self,
        subject: str,
        relation: str,
        object: str,
        *,
        start: When | None = None,
        explain: int = 0,
        without: Sequence[AnyFact] = (),
        with_: Sequence[AnyFact] = (),
    ) -> WhenForecast:
        """Return when one event happens next: quantiles, and the probability of each of the next 30 steps.

        For a lasting fact that holds in the step before the first one, this is when it ends.

        Args:
            subject: Name of the subject.
            relation: Name of the relation.
            object: Name of the object.
            start: The first step, as in ``events``.
            explain: How many pieces of evidence of each sort to give at most.
            without: Facts to leave out of the history, as in ``what_if``.
            with_: Facts to add to the history, as in ``what_if``.

        Returns:
            The distribution of the time until the event happens, or until the fact ends.

        Raises:
            UnknownNameError: A name is unknown or ambiguous; the error has suggestions.
            UnknownFactError: A fact to leave out does not exist; the error has suggestions.
            TiterError: ``explain`` is negative, or a fact is not before the first step.
        """
        changed, first = self._changed_events(start, without, with_)
        return ask_when(*changed, subject, relation, object, start=first, explain=explain)

    def check(self, start: When, within: str | int = 1, *, top: int = 25) -> CheckedForecast:
        """Compare the event forecast of a past window with what happened in it.

        Args:
            start: The first step of the window, as a date or number in the form of the data.
            within: Length of the window, as in ``events``.
            top: How many of the most likely events to compare.

        Returns:
            The most likely events with whether they happened, surprises, and the reliability of all probabilities.

        Raises:
            TiterError: The window ends after the last known fact or is invalid, or ``top`` is less than 1.
        """
        check_limit("top", top, 1)
        predictor, events = self._with_events()
        return check_window(predictor, events, Window.of(predictor, start, within), top)

    def latest_facts(
        self, entity: str | None = None, relation: str | None = None, limit: int = 50
    ) -> tuple[PastFact, ...]:
        """Return the latest known facts, latest first.

        Args:
            entity: Only facts with this entity, as subject or object; None for any.
            relation: Only facts with this relation; None for any.
            limit: How many facts to return at most.

        Returns:
            The facts, as seen from the step after the last known one.

        Raises:
            UnknownNameError: A name is unknown or ambiguous; the error has suggestions.
            TiterError: ``limit`` is less than 1.
        """
        check_limit("limit", limit, 1)
        predictor = self._current()
        wanted = None if entity is None else predictor.entities.find(entity)
        of_relation = None if relation is None else predictor.relations.find(relation)
        return latest_facts(predictor, wanted, of_relation, limit)

    @property
    def has_events(self) -> bool:
        """Whether event forecasts need no training first."""
        return self._events is not None or self.has_stored_events

    @property
    def has_stored_events(self) -> bool:
        """Whether the run directory has an event model."""
        return self.run is not None and (self.run.path / EVENTS).is_file()

    def prepare_events(self) -> None:
        """Load the event model, or train it if the run has none, so that the first event forecast does not wait.

        Raises:
            RunError: The event model of the run is damaged.
        """
        self._with_events()

    def _with_events(self) -> "tuple[Predictor, EventModel]":
        """Return the current predictor and the event model, which is trained when first needed."""
        predictor = self._current()
        with self._event_lock:
            if self._events is None:
                self._events = event_model_of(self.run, self.model, self.dataset)
        return predictor, self._events

    def _kept_likelihoods(self, made_by: "tuple[Predictor, EventModel]") -> dict[tuple[object, ...], Likelihood]:
        """Return the last likelihoods that a predictor, and so its history, and an event model led to."""
        with self._event_lock:
            before = self._kept_of
            if before is None or before[0] is not made_by[0] or before[1] is not made_by[1]:
                self._kept, self._kept_of = {}, made_by
            return self._kept

    def _changed_events(
        self, start: When | None, without: Sequence[AnyFact], with_: Sequence[AnyFact]
    ) -> "tuple[tuple[Predictor, EventModel], When | None]":
        """Return the predictor with a changed history, the event model, and the first step of the forecast."""
        predictor, events = self._with_events()
        if not (without or with_):
            return (predictor, events), start
        window = Window.of(predictor, start, 1)
        # The step is named, since without its last facts a history ends earlier.
        changed = predictor.on(Change.of(predictor, window.origin, without, with_).after)
        # The event model keeps the index of its last history. A copy shares the weights, and keeps its own index.
        return (changed, copy(events)), self.axis.label(window.start)
