"""What a batch asks of every question: answers, events, how likely one event is, or when it happens."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import pyarrow as pa

from titer.errors import TiterError
from titer.forecasting.events.tables import EVENT_SCHEMA, STEP_SCHEMA, AnyResult, event_batches
from titer.forecasting.forecast import Forecast, Unanswered
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.question import Question
from titer.forecasting.tables import SCHEMA, record_batches


class Task(ABC):
    """A kind of question with its options. Subclasses are dataclasses of the options.

    Attributes:
        name: The command with this task.
        schema: The columns of its results.
        needs_events: Whether it needs the event model of the run.
    """

    name: ClassVar[str]
    schema: ClassVar[pa.Schema]
    needs_events: ClassVar[bool] = True

    @abstractmethod
    def results(self, forecaster: Forecaster, questions: Iterable[Question | Unanswered]) -> Iterator[Any]:
        """Yield the results of questions, in their order."""

    @abstractmethod
    def batches(self, results: Iterable[Any]) -> Iterator[pa.RecordBatch]:
        """Yield results as rows of ``schema``; their column ``question`` counts the results from 1."""

    def to_dict(self) -> dict[str, Any]:
        """Return the name and the options as plain values."""
        # This class has no fields of its own; every subclass is a dataclass.
        return {"name": self.name, **asdict(self)}  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True)
class AnswerTask(Task):
    """The most likely answers, as ``Forecaster.ask`` gives them."""

    top: int = 10
    explain: int = 0
    name: ClassVar[str] = "forecast"
    schema: ClassVar[pa.Schema] = SCHEMA
    needs_events: ClassVar[bool] = False

    def results(
        self, forecaster: Forecaster, questions: Iterable[Question | Unanswered]
    ) -> Iterator[Forecast | Unanswered]:
        """Yield forecasts."""
        return forecaster.ask_many(questions, top=self.top, explain=self.explain)

    def batches(self, results: Iterable[Any]) -> Iterator[pa.RecordBatch]:
        """Yield one row for every answer."""
        return record_batches(results)


class EventTask(Task):
    """A task that is about events: questions are answered one by one."""

    schema: ClassVar[pa.Schema] = EVENT_SCHEMA

    @abstractmethod
    def ask(self, forecaster: Forecaster, question: Question) -> AnyResult:
        """Answer one question."""

    def results(self, forecaster: Forecaster, questions: Iterable[Question | Unanswered]) -> Iterator[AnyResult]:
        """Yield results about events."""
        for question in questions:
            if isinstance(question, Unanswered):
                yield question
                continue
            try:
                yield self.ask(forecaster, question)
            except TiterError as error:
                yield Unanswered.because(question, error.with_traceback(None))

    def batches(self, results: Iterable[Any]) -> Iterator[pa.RecordBatch]:
        """Yield one row for every event, or for every time step."""
        return event_batches(results, self.schema)


@dataclass(frozen=True)
class EventsTask(EventTask):
    """The most likely events, as ``Forecaster.events`` gives them."""

    entity: str | None = None
    within: str | int = 1
    top: int = 50
    sort: str = "probability"
    kind: str | None = None
    explain: int = 0
    name: ClassVar[str] = "events"

    def ask(self, forecaster: Forecaster, question: Question) -> AnyResult:
        """List the events with the names of the question."""
        names = question.subject, question.relation or None, question.object
        return forecaster.events(*names, start=question.at, **asdict(self))


@dataclass(frozen=True)
class LikelyTask(EventTask):
    """How likely one event is, as ``Forecaster.likely`` says."""

    within: str | int = 1
    explain: int = 0
    name: ClassVar[str] = "likely"

    def ask(self, forecaster: Forecaster, question: Question) -> AnyResult:
        """Return the probability of the event."""
        return forecaster.likely(*_names(question), self.within, start=question.at, explain=self.explain)


@dataclass(frozen=True)
class WhenTask(EventTask):
    """When one event happens next, as ``Forecaster.when`` says."""

    explain: int = 0
    name: ClassVar[str] = "when"
    schema: ClassVar[pa.Schema] = STEP_SCHEMA

    def ask(self, forecaster: Forecaster, question: Question) -> AnyResult:
        """Return the distribution of the time of the event."""
        return forecaster.when(*_names(question), start=question.at, explain=self.explain)


def _names(question: Question) -> tuple[str, str, str]:
    if not (question.subject and question.relation and question.object):
        raise TiterError("give subject, relation and object")
    return question.subject, question.relation, question.object
