"""Micro-batching: shared batches, fairness, cancellation and failures."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from titer.data.dataset import Dataset
from titer.errors import StoreError, TiterError
from titer.forecasting.forecast import Forecast, Unanswered
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.question import Question
from titer.runs.run import Run
from titer.runs.train import train
from titer.service.batching import MAX_EXPLAINED, Batcher
from titer.service.problems import ProblemError
from titer.service.telemetry import Telemetry
from titer.training.config import Config

QUESTIONS = [Question(name, "hold talks with", None, None) for name in ("Aldoria", "Brenmark", "Drovia", "Hestria")]
POISON = Question("Aldoria", "accuse", None, None)


@pytest.fixture(scope="module")
def trained(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(world_data, Config.from_dict({}, "recurrency"), tmp_path_factory.mktemp("runs") / "run")


class Watched(Forecaster):
    """A forecaster that a test can block, observe and make fail."""

    def __init__(self, run: Run, store: Path):
        super().__init__(run.load_model("cpu"), run.dataset, store, run=run)
        self.free = threading.Event()
        self.free.set()
        self.begun = threading.Event()
        self.batches: list[list[Question]] = []
        self.error: Exception | None = None

    def warm_up(self) -> None:
        pass  # only the questions of the tests are counted

    def ask_many(self, questions: Any, **options: Any) -> Iterator[Forecast | Unanswered]:
        self.begun.set()
        assert self.free.wait(30)
        if self.error is not None:
            raise self.error
        self.batches.append(questions)
        if POISON in questions:
            raise RuntimeError("the model fails on this question")
        return super().ask_many(questions, **options)


@pytest.fixture
def forecaster(trained: Run, tmp_path: Path) -> Watched:
    return Watched(trained, tmp_path / "facts.db")


@asynccontextmanager
async def batching(forecaster: Watched, **options: int) -> AsyncGenerator[Batcher]:
    async with Batcher(forecaster, Telemetry(), **{"size": 64, "max_waiting": 100, **options}) as batcher:
        yield batcher
    forecaster.close()


@asynccontextmanager
async def held(forecaster: Watched, batcher: Batcher) -> AsyncGenerator[None]:
    """While this lasts, the model is busy with a question of its own."""
    forecaster.free.clear()
    forecaster.begun.clear()
    first = asyncio.create_task(batcher.ask(QUESTIONS[:1], 1, 0))
    await asyncio.to_thread(forecaster.begun.wait, 30)
    yield
    forecaster.free.set()
    await first


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run in a thread of its own: a browser that this process opened earlier keeps a loop running in the main one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(asyncio.wait_for(work(), 60))).result()


def test_concurrent_questions_share_a_batch_with_unchanged_answers(forecaster: Watched):
    async def work() -> None:
        async with batching(forecaster) as batcher:
            alone = [(await batcher.ask([question], 1 + i, 0))[0] for i, question in enumerate(QUESTIONS)]
            forecaster.batches.clear()
            async with held(forecaster, batcher):
                # As many clients, each with one question, who want different numbers of answers.
                clients = [asyncio.create_task(batcher.ask([q], 1 + i, 0)) for i, q in enumerate(QUESTIONS)]
                await asyncio.sleep(0)
            together = [(await client)[0] for client in clients]
        assert [one.to_dict() for one in together] == [one.to_dict() for one in alone]
        assert forecaster.batches == [QUESTIONS[:1], QUESTIONS]
        page = batcher.telemetry.page().decode()
        assert "titer_batch_questions_sum 9.0" in page
        assert "titer_batch_questions_count 6.0" in page
        assert "titer_waiting_questions 0.0" in page

    run(work)


def test_batches_are_bounded_and_smaller_with_evidence(forecaster: Watched):
    async def work() -> None:
        async with batching(forecaster, size=3) as batcher:
            await batcher.ask(QUESTIONS * 2, 1, 0)
            assert [len(batch) for batch in forecaster.batches] == [3, 3, 2]
            forecaster.batches.clear()
            found = await batcher.ask(QUESTIONS, MAX_EXPLAINED, 1)
            assert [len(batch) for batch in forecaster.batches] == [1, 1, 1, 1]
        assert [one.subject for one in found if isinstance(one, Forecast)] == [one.subject for one in QUESTIONS]

    run(work)


def test_questions_with_different_amounts_of_evidence_are_not_batched_together(forecaster: Watched):
    async def work() -> None:
        async with batching(forecaster) as batcher:
            async with held(forecaster, batcher):
                both = [asyncio.create_task(batcher.ask(QUESTIONS[:1], top, 1)) for top in (1, 30)]
                await asyncio.sleep(0)
            one, many = [(await client)[0] for client in both]
        assert isinstance(one, Forecast)
        assert isinstance(many, Forecast)
        assert (one.answers[0], len(one.answers), len(forecaster.batches)) == (many.answers[0], 1, 3)

    run(work)


def test_cheap_questions_do_not_wait_for_all_expensive_ones(forecaster: Watched):
    async def work() -> None:
        async with batching(forecaster, size=1) as batcher:
            async with held(forecaster, batcher):
                much = [asyncio.create_task(batcher.ask(QUESTIONS[1:], 1, explain)) for explain in (1, 2)]
                await asyncio.sleep(0)
                little = asyncio.create_task(batcher.ask(QUESTIONS[:1], 1, 0))
                await asyncio.sleep(0)
            await asyncio.gather(little, *much)
        # The question before, one of each other kind, and this.
        assert QUESTIONS[:1] in forecaster.batches[1:4]

    run(work)


def test_cancelled_questions_are_dropped_and_others_answered(forecaster: Watched):
    async def work() -> None:
        async with batching(forecaster, max_waiting=4) as batcher:
            async with held(forecaster, batcher):
                gone = asyncio.create_task(batcher.ask(QUESTIONS[:2], 1, 0))
                stays = asyncio.create_task(batcher.ask(QUESTIONS[2:3], 1, 0))
                await asyncio.sleep(0)
                with pytest.raises(ProblemError) as full:
                    await batcher.ask(QUESTIONS[3:], 1, 0)
                assert full.value.status == 503
                gone.cancel()
                await asyncio.sleep(0.01)
                later = asyncio.create_task(batcher.ask(QUESTIONS[3:], 1, 0))
                await asyncio.sleep(0)
            assert [(await one)[0].to_dict()["subject"] for one in (stays, later)] == ["Drovia", "Hestria"]
        assert gone.cancelled()
        assert forecaster.batches == [QUESTIONS[:1], QUESTIONS[2:]]

    run(work)


def test_cancelling_during_a_batch_leaves_other_questions_answered(forecaster: Watched):
    async def work() -> None:
        async with batching(forecaster) as batcher:
            forecaster.free.clear()
            gone = asyncio.create_task(batcher.ask(QUESTIONS[:2], 1, 0))
            await asyncio.to_thread(forecaster.begun.wait, 30)
            gone.cancel()
            await asyncio.sleep(0.01)
            forecaster.free.set()
            assert isinstance((await batcher.ask(QUESTIONS[:1], 1, 0))[0], Forecast)

    run(work)


def test_a_failing_question_leaves_the_others_of_its_batch_answered(forecaster: Watched):
    async def work() -> None:
        async with batching(forecaster) as batcher:
            async with held(forecaster, batcher):
                clients = [asyncio.create_task(batcher.ask([q], 1, 0)) for q in (QUESTIONS[0], POISON, QUESTIONS[1])]
                await asyncio.sleep(0)
            first, poison, last = await asyncio.gather(*clients, return_exceptions=True)
        assert isinstance(poison, RuntimeError)
        assert not isinstance(first, BaseException)
        assert not isinstance(last, BaseException)

    run(work)


@pytest.mark.parametrize("size", [1, 64])
def test_remaining_questions_of_a_failed_request_are_not_computed(forecaster: Watched, size: int):
    async def work() -> None:
        siblings, later = [QUESTIONS[1]] * 20, [QUESTIONS[2]] * 21
        async with batching(forecaster, size=size, max_waiting=len(later)) as batcher:
            with pytest.raises(RuntimeError):
                await batcher.ask([POISON, *siblings], 1, 0)
            # All places are free again at once.
            assert len(await batcher.ask(later, 1, 0)) == len(later)
        # The model may have started the next question before the failure was delivered.
        assert forecaster.batches.count(siblings[:1]) <= 1

    run(work)


@pytest.mark.parametrize("error", [StoreError("the database is gone"), TiterError("NaN"), MemoryError()])
def test_a_general_failure_reaches_every_client_and_the_service_recovers(forecaster: Watched, error: Exception):
    async def work() -> None:
        async with batching(forecaster) as batcher:
            forecaster.error = error
            with pytest.raises(type(error)):
                await batcher.ask(QUESTIONS, 1, 0)
            with pytest.raises(type(error)):
                await batcher.alone(lambda: forecaster.ask_many(QUESTIONS))
            forecaster.error = None
            assert len(await batcher.ask(QUESTIONS, 1, 0)) == len(QUESTIONS)

    run(work)


def test_questions_wait_for_at_most_one_long_job(forecaster: Watched):
    async def work() -> None:
        order: list[str] = []

        def job() -> None:
            time.sleep(0.01)  # the answer is on its way while the next jobs are done
            order.append("job")

        async with batching(forecaster) as batcher:
            async with held(forecaster, batcher):
                jobs = [asyncio.create_task(batcher.alone(job)) for _ in range(20)]
                await asyncio.sleep(0)
                question = asyncio.create_task(batcher.ask(QUESTIONS[1:2], 1, 0))
                question.add_done_callback(lambda _: order.append("answer"))
                await asyncio.sleep(0)
            await asyncio.gather(question, *jobs)
        assert order.index("answer") < 10

    run(work)


def test_a_slow_write_does_not_delay_questions(forecaster: Watched):
    async def work() -> None:
        async with batching(forecaster) as batcher:
            unlocked = threading.Event()
            writing = asyncio.create_task(batcher.write(lambda: unlocked.wait(30)))
            await asyncio.sleep(0)
            assert len(await batcher.ask(QUESTIONS, 1, 0)) == len(QUESTIONS)
            assert not writing.done()
            unlocked.set()
            assert await writing

    run(work)


def test_queued_questions_are_answered_before_closing(forecaster: Watched):
    async def work() -> None:
        async with batching(forecaster, size=1) as batcher:
            asked = [asyncio.create_task(batcher.ask([question], 1, 0)) for question in QUESTIONS]
            await asyncio.sleep(0)
        found = await asyncio.gather(*asked)
        assert all(isinstance(one, Forecast) for (one,) in found)

    run(work)
