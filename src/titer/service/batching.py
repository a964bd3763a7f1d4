"""Questions that arrive together are answered together."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from titer.forecasting.forecast import Forecast, Unanswered
from titer.forecasting.question import Question
from titer.service.knowledge import Knowledge
from titer.service.measures import Measures
from titer.service.problems import ProblemError

Result = TypeVar("Result")


@dataclass
class _Waiting:
    question: Question
    top: int
    explain: int
    answer: "asyncio.Future[Forecast | Unanswered]" = field(default_factory=asyncio.Future)


class Batcher:
    """Gathers questions while the model is busy with the ones before, and asks them all at once.

    Nobody waits for a batch to fill: a question that finds the model idle is asked at once. There is one thread for the
    model, since its own operations already use every core.
    """

    def __init__(self, knowledge: Knowledge, measures: Measures, *, size: int, most_waiting: int):
        self.knowledge, self.measures, self.size, self.most_waiting = knowledge, measures, size, most_waiting
        self._waiting: list[_Waiting] = []
        self._arrived = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Batcher":
        self._task = asyncio.create_task(self._work())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Finish what has begun."""
        assert self._task is not None
        while self._waiting:
            await asyncio.sleep(0.01)
        self._task.cancel()
        self._thread.shutdown()

    async def ask(self, questions: list[Question], top: int, explain: int) -> list[Forecast | Unanswered]:
        """Answers in the order of the questions."""
        if len(self._waiting) + len(questions) > self.most_waiting:
            raise ProblemError(
                503, "busy", "too many questions are waiting; try again in a moment", {"Retry-After": "1"}
            )
        waiting = [_Waiting(question, top, explain) for question in questions]
        self._waiting += waiting
        self._arrived.set()
        try:
            return list(await asyncio.gather(*(one.answer for one in waiting)))
        finally:
            # Whoever gave up need not be answered.
            self._waiting = [one for one in self._waiting if not one.answer.done()]

    async def alone(self, work: Callable[[], Result]) -> Result:
        """Do something else that needs the model, in its turn."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _work(self) -> None:
        while True:
            await self._arrived.wait()
            # Evidence is by far the dearest: questions that want as much of it go together.
            first = self._waiting[0].explain if self._waiting else 0
            batch = [one for one in self._waiting if one.explain == first][: self.size]
            if not batch:
                self._arrived.clear()
                continue
            # Whatever goes wrong with this batch, the next one must still be answered.
            (answers,) = await asyncio.gather(self.alone(partial(self._answer, batch)), return_exceptions=True)
            for place, one in enumerate(batch):
                if one.answer.done():  # whoever asked has given up
                    continue
                if isinstance(answers, BaseException):
                    one.answer.set_exception(answers)
                else:
                    one.answer.set_result(answers[place])
            self._waiting = [one for one in self._waiting if not one.answer.done()]

    def _answer(self, batch: list[_Waiting]) -> list[Forecast | Unanswered]:
        self.measures.batch.observe(len(batch))
        forecaster = self.knowledge.forecaster()
        top = max(one.top for one in batch)
        found = forecaster.ask_many([one.question for one in batch], top=top, explain=batch[0].explain)
        return [_cut(answer, one.top) for answer, one in zip(found, batch, strict=True)]


def _cut(found: Forecast | Unanswered, top: int) -> Forecast | Unanswered:
    return found if isinstance(found, Unanswered) else replace(found, answers=found.answers[:top])
