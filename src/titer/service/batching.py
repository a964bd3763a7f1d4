"""Questions that arrive together are answered together."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from titer.errors import StoreError
from titer.forecasting.forecast import Forecast, Unanswered
from titer.forecasting.question import Question
from titer.service.knowledge import Knowledge
from titer.service.problems import ProblemError
from titer.service.telemetry import Telemetry

MAX_EXPLAINED = 16
"""Answers with evidence in one batch, unless one question alone wants more: others should not have to wait for long."""
Result = TypeVar("Result")


@dataclass
class _Waiting:
    question: Question
    top: int
    explain: int
    answer: "asyncio.Future[Forecast | Unanswered]" = field(default_factory=asyncio.Future)

    @property
    def kind(self) -> tuple[int, int]:
        """Evidence is by far the dearest, and each answer has its own: only questions that want as much go together."""
        return (self.explain, self.top) if self.explain else (0, 0)


class Batcher:
    """Gathers questions while the model is busy with the ones before, and asks them all at once.

    Nobody waits for a batch to fill: a question that finds the model idle is asked at once. There is one thread for the
    model, since its own operations already use every core; and another for adding facts, which may have to wait for the
    database while questions need not.
    """

    def __init__(self, knowledge: Knowledge, measures: Telemetry, *, size: int, max_waiting: int):
        self.knowledge, self.measures, self.size, self.max_waiting = knowledge, measures, size, max_waiting
        self._waiting: list[_Waiting] = []
        self._arrived = asyncio.Event()
        self._model = ThreadPoolExecutor(1, thread_name_prefix="model")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="facts")
        self._turn = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        measures.waiting.set_function(lambda: len(self._waiting))

    async def __aenter__(self) -> "Batcher":
        # The first question takes longest: indexes are built, and memory is laid out. Let nobody wait for that.
        await self._in_thread(self.knowledge.warm)
        self._task = asyncio.create_task(self._work())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Finish what has begun."""
        assert self._task is not None
        while self._waiting:
            await asyncio.sleep(0.01)
        self._task.cancel()
        self._model.shutdown()
        self._writer.shutdown()

    async def ask(self, questions: list[Question], top: int, explain: int) -> list[Forecast | Unanswered]:
        """Answers in the order of the questions."""
        if len(self._waiting) + len(questions) > self.max_waiting:
            raise ProblemError(
                503, "busy", "too many questions are waiting; try again in a moment", {"Retry-After": "1"}
            )
        waiting = [_Waiting(question, top, explain) for question in questions]
        self._waiting += waiting
        self._arrived.set()
        try:
            return list(await asyncio.gather(*(one.answer for one in waiting)))
        finally:
            # Whoever gave up, or heard of one question that failed, waits for none of the others.
            for one in waiting:
                one.answer.cancel()
            self._forget_the_answered()

    async def alone(self, work: Callable[[], Result]) -> Result:
        """Do something else that needs the model: in turns with the batches, however many want to do so."""
        async with self._turn:
            return await self._in_thread(work)

    async def write(self, work: Callable[[], Result]) -> Result:
        """Do something that needs only the database."""
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
            self._forget_the_answered()
            # Each kind in its turn: who wants little need not wait for all who want much.
            self._waiting.sort(key=lambda one: one.kind == batch[0].kind)

    async def _settle(self, batch: list[_Waiting]) -> None:
        """Answer a batch, or say what went wrong; the next one must be answered in any case."""
        (answers,) = await asyncio.gather(self._in_thread(partial(self._answer, batch)), return_exceptions=True)
        if isinstance(answers, BaseException) and not isinstance(answers, StoreError) and len(batch) > 1:
            # One question that the model cannot bear is no reason to leave the others without an answer.
            for one in batch:
                if not one.answer.done():
                    await self._settle([one])
            return
        for place, one in enumerate(batch):
            if one.answer.done():  # whoever asked has given up
                continue
            if isinstance(answers, BaseException):
                one.answer.set_exception(answers)
            else:
                one.answer.set_result(answers[place])

    def _next(self) -> list[_Waiting]:
        """Those who have waited longest, as many as go together."""
        if not self._waiting:
            return []
        first = self._waiting[0]
        size = max(1, min(self.size, MAX_EXPLAINED // first.top)) if first.explain else self.size
        return [one for one in self._waiting if one.kind == first.kind][:size]

    def _forget_the_answered(self) -> None:
        self._waiting = [one for one in self._waiting if not one.answer.done()]

    def _answer(self, batch: list[_Waiting]) -> list[Forecast | Unanswered]:
        forecaster = self.knowledge.forecaster()
        self.measures.batch.observe(len(batch))
        top = max(one.top for one in batch)
        found = forecaster.ask_many([one.question for one in batch], top=top, explain=batch[0].explain)
        return [_cut(answer, one.top) for answer, one in zip(found, batch, strict=True)]


def _cut(found: Forecast | Unanswered, top: int) -> Forecast | Unanswered:
    return found if isinstance(found, Unanswered) else replace(found, answers=found.answers[:top])
