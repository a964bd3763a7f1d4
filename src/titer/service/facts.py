"""Routes that add, remove and list facts."""

from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import FastAPI, Query

from titer.data.time_axis import TimeAxis
from titer.service.loaded import Loaded
from titer.service.problems import ProblemError, check_limits
from titer.service.schemas import AddedFactOut, AddedFactsOut, FactsIn, RemovalIn, RemovedOut
from titer.service.serving import Current
from titer.service.settings import Settings
from titer.service.telemetry import Telemetry
from titer.store.adding import add_records
from titer.store.named import MAX_SEQUENCE, Added, Removed, StoredFact

Result = TypeVar("Result")
MAX_LISTED = 10_000


def add_fact_routes(app: FastAPI, settings: Settings, telemetry: Telemetry) -> None:
    """Add the routes about added facts to an app. All of them need a token."""

    async def with_store(current: Loaded, work: Callable[[], Result]) -> Result:
        if settings.token is None:
            raise ProblemError(403, "read_only", "the service is read-only; start it with a token to change facts")
        # The store may be opened here, so even that is left to the writer's thread.
        return await current.batcher.write(lambda: current.change_store(work))

    def removed(found: Removed, current: Loaded) -> RemovedOut:
        return RemovedOut(removed=[_out(fact, current.forecaster.axis) for fact in found.facts], facts=found.num_left)

    @app.post("/v1/facts", summary="Add facts; they are used from the next question on")
    async def facts(current: Current, sent: FactsIn) -> Added:
        check_limits(("the number of facts", len(sent.facts), settings.max_facts))
        rows = [fact.model_dump() for fact in sent.facts]

        def add() -> Added:
            store = current.forecaster.fact_store
            return add_records(store, rows, backfill=sent.backfill, allow_future=sent.allow_future)

        added = await with_store(current, add)
        telemetry.facts.inc(added.added)
        return added

    @app.get("/v1/facts", summary="List added facts, in the order of their addition")
    async def listed(
        current: Current,
        since: Annotated[int, Query(ge=0, le=MAX_SEQUENCE, description="Only facts with greater numbers.")] = 0,
        limit: Annotated[int, Query(ge=1, le=MAX_LISTED, description="Number of facts at most.")] = 1000,
    ) -> AddedFactsOut:
        found = await with_store(current, lambda: current.forecaster.fact_store.page(since, limit))
        return AddedFactsOut(facts=[_out(fact, current.forecaster.axis) for fact in found])

    @app.post("/v1/facts/remove", summary="Remove added facts by their numbers; the journal records it")
    async def remove(current: Current, sent: RemovalIn) -> RemovedOut:
        def work() -> Removed:
            return current.forecaster.fact_store.remove(sent.sequences, note=sent.note)

        return removed(await with_store(current, work), current)

    @app.post("/v1/facts/undo", summary="Remove the facts of the last addition")
    async def undo(current: Current) -> RemovedOut:
        return removed(await with_store(current, lambda: current.forecaster.fact_store.undo()), current)


def _out(stored: StoredFact, axis: TimeAxis) -> AddedFactOut:
    sequence, (subject, relation, object, step), added_at = stored
    return AddedFactOut(
        sequence=sequence, subject=subject, relation=relation, object=object, time=axis.label(step), added_at=added_at
    )
