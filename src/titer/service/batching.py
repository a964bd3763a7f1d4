"""Micro-batches: questions that arrive together are answered together."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from titer.errors import StoreError
from titer.forecasting.forecast import Forecast, Unanswered
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.question import Question
from titer.service.problems import ProblemError
from titer.service.telemetry import Telemetry

MAX_EXPLAINED = 16
"""Answers with evidence in one batch, unless a single question asks for more; bounds the wait of other questions."""
Result = TypeVar("Result")


@dataclass
class _Pending:
    """A question in the queue, and the future that receives its answer."""

    question: Question
    top: int
    explain: int
    answer: "asyncio.Future[Forecast | Unanswered]" = field(default_factory=asyncio.Future)

    @property
    def kind(self) -> tuple[int, int]:
        """Evidence dominates the cost, so only questions that ask for the same amount of evidence share a batch."""
        return (self.explain, self.top) if self.explain else (0, 0)


class Batcher:
    """Collects questions while the model is busy and answers them in one batch.

    A question that finds the model idle is answered at once; no question waits for a batch to fill. One thread runs the
    model, since its operations already use every core. Another adds facts, so that waiting for the database does not
    delay questions.
    """

    def __init__(self, forecaster: Forecaster, telemetry: Telemetry, *, size: int, max_waiting: int):
        self.forecaster, self.telemetry, self.size, self.max_waiting = forecaster, telemetry, size, max_waiting
        self._waiting: list[_Pending] = []
        self._arrived = asyncio.Event()
        self._model = ThreadPoolExecutor(1, thread_name_prefix="model")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="facts")
        self._turn = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        telemetry.waiting.set_function(lambda: len(self._waiting))

    async def __aenter__(self) -> "Batcher":
        # The first query builds indexes, so it is run before the service accepts requests.
        await self._in_thread(self.forecaster.warm_up)
        self._task = asyncio.create_task(self._work())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Answer the queued questions, then stop."""
        assert self._task is not None
        while self._waiting:
            await asyncio.sleep(0.01)
        self._task.cancel()
        self._model.shutdown()
        self._writer.shutdown()

    async def ask(self, questions: list[Question], top: int, explain: int) -> list[Forecast | Unanswered]:
        """Return the answers, in the order of the questions."""
        if len(self._waiting) + len(questions) > self.max_waiting:
            raise ProblemError(
                503, "busy", "too many questions are queued; try again in a second", {"Retry-After": "1"}
            )
        waiting = [_Pending(question, top, explain) for question in questions]
        self._waiting += waiting
        self._arrived.set()
        try:
            return list(await asyncio.gather(*(one.answer for one in waiting)))
        finally:
            # When the client has gone or one of its questions failed, its other questions need no answer.
            for one in waiting:
                one.answer.cancel()
            self._drop_answered()

    async def alone(self, work: Callable[[], Result]) -> Result:
        """Run other work on the model's thread; such calls take turns with the batches."""
        async with self._turn:
            return await self._in_thread(work)

    async def write(self, work: Callable[[], Result]) -> Result:
        """Run work that needs only the database."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, work)

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._model, work)

    async def _work(self) -> None:
        while True:
            await self._arrived.wait()
            batch = self._next()
            if not batch:
                self._arrived.clear()
                continue
            await self._settle(batch)
            self._drop_answered()
            # Kinds take turns, so that cheap questions do not wait for all the expensive ones.
            self._waiting.sort(key=lambda one: one.kind == batch[0].kind)

    async def _settle(self, batch: list[_Pending]) -> None:
        """Answer a batch or set its error; never raise, so that the next batch is answered in any case."""
        (answers,) = await asyncio.gather(self._in_thread(partial(self._answer, batch)), return_exceptions=True)
        if isinstance(answers, BaseException) and not isinstance(answers, StoreError) and len(batch) > 1:
            # If a batch fails, its questions are retried one by one.
            for one in batch:
                if not one.answer.done():
                    await self._settle([one])
            return
        for place, one in enumerate(batch):
            if one.answer.done():  # the client has gone
                continue
            if isinstance(answers, BaseException):
                one.answer.set_exception(answers)
            else:
                one.answer.set_result(answers[place])

    def _next(self) -> list[_Pending]:
        """Return the next batch: the questions of one kind that have waited longest."""
        if not self._waiting:
            return []
        first = self._waiting[0]
        size = max(1, min(self.size, MAX_EXPLAINED // first.top)) if first.explain else self.size
        return [one for one in self._waiting if one.kind == first.kind][:size]

    def _drop_answered(self) -> None:
        self._waiting = [one for one in self._waiting if not one.answer.done()]

    def _answer(self, batch: list[_Pending]) -> list[Forecast | Unanswered]:
        self.telemetry.batch.observe(len(batch))
        top = max(one.top for one in batch)
        found = self.forecaster.ask_many([one.question for one in batch], top=top, explain=batch[0].explain)
        return [_cut(answer, one.top) for answer, one in zip(found, batch, strict=True)]


def _cut(found: Forecast | Unanswered, top: int) -> Forecast | Unanswered:
    return found if isinstance(found, Unanswered) else replace(found, answers=found.answers[:top])
