"""The interface to a trained model: questions in words, answers in words."""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from titer.data.dataset import Dataset
from titer.data.vocabulary import Vocabulary
from titer.errors import TiterError
from titer.forecasting.batching import answer_in_batches
from titer.forecasting.changes import Change
from titer.forecasting.events.ask import ask_events, ask_likely, ask_when
from titer.forecasting.events.past import latest_facts
from titer.forecasting.events.results import EventForecast, Likelihood, WhenForecast
from titer.forecasting.events.windows import Window
from titer.forecasting.fact_input import AnyFact
from titer.forecasting.forecast import Answer, Forecast, PastFact, Unanswered
from titer.forecasting.limits import check_limit
from titer.forecasting.names import NameIndex
from titer.forecasting.predictor import Predictor
from titer.forecasting.question import Question, When
from titer.forecasting.track_record import CheckedForecast, check_window
from titer.forecasting.what_if import WhatIf, compare
from titer.graph.history import History
from titer.graph.stored_history import history_of
from titer.models.base import Model
from titer.runs.events import event_model_of
from titer.runs.run import Run
from titer.training.layout import EVENTS

if TYPE_CHECKING:
    from titer.events.model import EventModel
    from titer.store.facts import FactStore
    from titer.store.live import LiveHistory


class Forecaster:
    """A trained model with the facts it knows: answers questions in words.

    The facts are those of a dataset and those added to its fact store, by this process or another. Every question is
    answered with all facts that are stored by then. A forecaster may be used from several threads.

    Example:
        >>> forecaster = Forecaster.load("runs/icews14")
        >>> print(forecaster.ask("China", "Consult", at="2014-12-31", explain=3))

    Attributes:
        model: The trained model.
        dataset: The dataset that the model was trained on.
        axis: The calendar of the dataset's time steps.
        run: The run directory that the forecaster was loaded from, or None.
    """

    def __init__(self, model: Model, dataset: Dataset, store: str | Path | None = None, *, run: Run | None = None):
        """Create a forecaster from a model in memory.

        Args:
            model: The trained model.
            dataset: The dataset that the model was trained on. All its splits are known facts.
            store: Database of added facts: the path of an SQLite file, or the URL of a database. None for no store.
            run: The run directory that the model comes from, if there is one.
        """
        self.model = model
        self.dataset = dataset
        self.axis = dataset.axis
        self.run = run
        self._address = store
        self._lock = Lock()
        self._event_lock = Lock()
        self._events: EventModel | None = None
        self._store: FactStore | None = None
        self._live: LiveHistory | None = None
        history = history_of(dataset).to(model.device)
        self._predictor = Predictor.create(model, dataset.axis, history, dataset)
        self.refresh()

    @classmethod
    def load(cls, run: Run | Path | str, device: str = "auto", store: str | Path | None = None) -> "Forecaster":
        """Load the model of a run directory, with its dataset and the facts added to it.

        Args:
            run: The run directory.
            device: ``"cpu"``, ``"cuda"``, or ``"auto"`` for a GPU if there is one.
            store: Database of added facts: the path of an SQLite file, or the URL of a database. None for the
                database in the run directory.

        Returns:
            A forecaster that knows all facts stored so far.

        Raises:
            RunError: The directory is not a run, or is incomplete.
            StoreError: The database cannot be used.
        """
        run = run if isinstance(run, Run) else Run(run)
        return cls(run.load_model(device), run.dataset, store or run.store_path, run=run)

    def __repr__(self) -> str:
        place = f", {self.run.path}" if self.run is not None else ""
        last = self.axis.label(self.last_time)
        entities = f"{self.vocabulary.num_entities:,} entities"
        return f"<Forecaster: {self.model.name} on {self.dataset.name}, {entities}, facts up to {last}{place}>"

    @property
    def fact_store(self) -> "FactStore":
        """The database of added facts, created when first used.

        Raises:
            StoreError: The database cannot be used.
            TiterError: The forecaster was created without a store.
        """
        if self._store is not None:
            return self._store
        with self._lock:
            return self._open_store()

    def refresh(self) -> None:
        """Take in the facts that were added since the last call. Every question does this first.

        Raises:
            StoreError: The database of added facts cannot be used.
        """
        self._current()

    def _current(self) -> Predictor:
        """Return the model with all facts that are stored now. Facts that are added later do not change it."""
        with self._lock:
            if self._live is None:
                if self._address is None or not (self._store or _may_exist(self._address)):
                    return self._predictor  # no fact has been added yet
                from titer.store.live import LiveHistory

                self._live = LiveHistory(self._open_store(), self._predictor.history)
            if (history := self._live.current()) is not self._predictor.history:
                self._predictor = self._predictor.on(history)
            return self._predictor

    def _open_store(self) -> "FactStore":
        """Open the store; the caller holds the lock."""
        if self._store is None:
            if self._address is None:
                raise TiterError("this forecaster has no fact store; pass store= when it is created")
            from titer.store.facts import FactStore

            self._store = FactStore(self._address, self.dataset)
        return self._store

    def close(self) -> None:
        """Close the connections to the database of added facts."""
        if self._store is not None:
            self._store.close()

    def __enter__(self) -> "Forecaster":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def facts_version(self) -> tuple[int, int]:
        """The number of facts ever added to the store and the number of removals, as of the last ``refresh``."""
        return self._live.version if self._live is not None else (0, 0)

    @property
    def history(self) -> History:
        """The known facts, as of the last ``refresh``."""
        return self._predictor.history

    @property
    def vocabulary(self) -> Vocabulary:
        """The known names, as of the last ``refresh``."""
        return self._predictor.vocabulary

    @property
    def entities(self) -> NameIndex:
        """The entities by name, as of the last ``refresh``."""
        return self._predictor.entities

    @property
    def relations(self) -> NameIndex:
        """The relations by name."""
        return self._predictor.relations

    @property
    def last_time(self) -> int:
        """The time step of the last known fact, as of the last ``refresh``."""
        return self._predictor.last_time

    def ask(
        self,
        subject: str | None,
        relation: str,
        object: str | None = None,
        *,
        at: When | None = None,
        top: int = 10,
        explain: int = 0,
        without: Sequence[AnyFact] = (),
        with_: Sequence[AnyFact] = (),
    ) -> Forecast:
        """Return the most likely objects of (subject, relation, ?), or subjects of (?, relation, object).

        Names are matched regardless of case, and any unambiguous prefix of a name is accepted. Only facts strictly
        before the time of the question are used.

        Args:
            subject: Name of the subject; None or ``"?"`` to ask for it.
            relation: Name of the relation.
            object: Name of the object; None or ``"?"`` to ask for it.
            at: The time step to forecast, as a date or number in the form of the data. None means the step after the
                last known fact.
            top: How many answers to return at most.
            explain: How many kinds of evidence to give for each answer at most. Paths that differ only in their dates
                are one kind.
            without: Facts to leave out of the history, as in ``what_if``.
            with_: Facts to add to the history, as in ``what_if``.

        Returns:
            The answers, best first.

        Raises:
            UnknownNameError: A name is unknown or ambiguous; the error has suggestions.
            DataError: The time is not a date of the dataset's kind.
            TiterError: Not exactly one of ``subject`` and ``object`` is given, ``top`` is less than 1, or ``explain``
                is negative.
        """
        question = Question(subject, relation, object, at)
        if without or with_:
            return self.what_if(question, without=without, with_=with_, top=top, explain=explain).after
        (result,) = self.ask_many([question], top=top, explain=explain)
        if isinstance(result, Unanswered):
            raise result.exception
        return result

    def ask_many(
        self,
        questions: Iterable[Question | Unanswered],
        *,
        top: int = 10,
        explain: int = 0,
        batch_size: int | None = None,
    ) -> Iterator[Forecast | Unanswered]:
        """Answer many questions in batches, with only a few batches in memory at a time.

        All questions are answered with the history as it is at the time of the call.

        Args:
            questions: The questions. ``Unanswered`` items, as ``read_questions`` yields them for rows that cannot be
                read, are passed through.
            top: How many answers to return for each question at most.
            explain: How many kinds of evidence to give for each answer at most.
            batch_size: How many questions to score at once. None for a default that depends on the device.

        Returns:
            An iterator over the results in the order of the questions. A question that cannot be answered yields an
            ``Unanswered`` with the reason and does not stop the others.

        Raises:
            TiterError: ``top`` is less than 1, or ``explain`` is negative.
        """
        check_limit("top", top, 1)
        check_limit("explain", explain, 0)
        return answer_in_batches(self._current(), questions, top=top, explain=explain, batch_size=batch_size)

    def explain(
        self,
        question: Question,
        answer: str,
        *,
        limit: int = 10,
        without: Sequence[AnyFact] = (),
        with_: Sequence[AnyFact] = (),
    ) -> Answer:
        """Return one answer to a question, whatever its rank, with its evidence.

        Args:
            question: The question.
            answer: Name of the entity to explain.
            limit: How many kinds of evidence to give at most.
            without: Facts to leave out of the history, as in ``what_if``.
            with_: Facts to add to the history, as in ``what_if``.

        Returns:
            The answer, its evidence strongest first.

        Raises:
            UnknownNameError: A name is unknown or ambiguous; the error has suggestions.
            TiterError: No earlier fact supports the answer, ``limit`` is negative, or the question is invalid.
        """
        check_limit("limit", limit, 0)
        predictor = self._current()
        if without or with_:
            predictor = predictor.on(Change.of(predictor, predictor.time_of(question), without, with_).after)
        return predictor.explain(predictor.encode(question), predictor.entities.find(answer), limit)

    def what_if(
        self,
        question: Question,
        *,
        without: Sequence[AnyFact] = (),
        with_: Sequence[AnyFact] = (),
        top: int = 10,
        explain: int = 0,
    ) -> WhatIf:
        """Answer a question with the known history, and with some facts left out of it or added to it.

        A fact is a tuple (subject, relation, object, time), a fact from a piece of evidence, or text such as
        ``"Nigeria | Consult | Muhammadu Buhari | 2018-10-01"``. All facts must be before the question's time. The
        fact store does not change.

        Args:
            question: The question.
            without: Facts to leave out. They must exist.
            with_: Facts to add. They may name new entities.
            top: How many answers to return at most.
            explain: How many kinds of evidence to give for each answer at most.

        Returns:
            Both forecasts, and how each answer moved.

        Raises:
            UnknownFactError: A fact to leave out does not exist; the error has suggestions.
            UnknownNameError: A name is unknown or ambiguous; the error has suggestions.
            TiterError: A fact is not before the question's time or is already known, ``top`` is less than 1,
                ``explain`` is negative, or the question is invalid.
        """
        check_limit("top", top, 1)
        check_limit("explain", explain, 0)
        predictor = self._current()
        change = Change.of(predictor, predictor.time_of(question), without, with_)
        return compare(predictor, question, change, top, explain)

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
            sort: ``"probability"``, or ``"lift"`` for what is most unusual: probability over the usual rate.
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
            The probability that the event happens at least once, with its usual rate.

        Raises:
            UnknownNameError: A name is unknown or ambiguous; the error has suggestions.
            UnknownFactError: A fact to leave out does not exist; the error has suggestions.
            TiterError: The window or ``explain`` is invalid, or a fact is not before the window.
        """
        words = (subject, relation, object)
        changed, first = self._changed_events(start, without, with_)
        return ask_likely(*changed, *words, within=within, start=first, explain=explain)

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

        Args:
            subject: Name of the subject.
            relation: Name of the relation.
            object: Name of the object.
            start: The first step, as in ``events``.
            explain: How many pieces of evidence of each sort to give at most.
            without: Facts to leave out of the history, as in ``what_if``.
            with_: Facts to add to the history, as in ``what_if``.

        Returns:
            The distribution of the time until the event happens.

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

    def warm_up(self) -> None:
        """Run one dummy query, so that the first real one does not wait for indexes to be built."""
        vocabulary = self._current().vocabulary
        list(self.ask_many([Question(vocabulary.entities[0], vocabulary.relations[0])]))


def _may_exist(address: str | Path) -> bool:
    """Return whether a database may exist; a file that does not exist is not created before facts are added."""
    return not isinstance(address, Path) or address.exists()
