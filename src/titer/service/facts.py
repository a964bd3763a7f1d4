"""The route that adds facts."""

from fastapi import FastAPI, Request

from titer.forecasting.forecaster import Forecaster
from titer.service.batching import Batcher
from titer.service.problems import ProblemError
from titer.service.schemas import AddedOut, FactsIn
from titer.service.settings import Settings
from titer.service.telemetry import Telemetry
from titer.store.adding import add_records


def add_fact_routes(app: FastAPI, forecaster: Forecaster, settings: Settings, telemetry: Telemetry) -> None:
    """Add the route that stores facts to an app."""

    @app.post("/v1/facts", summary="Add facts; they are used from the next question on")
    async def facts(request: Request, sent: FactsIn) -> AddedOut:
        if settings.token is None:
            raise ProblemError(403, "read_only", "the service is read-only; start it with a token to add facts")
        if len(sent.facts) > settings.max_facts:
            raise ProblemError(422, "too_much", f"a request may have at most {settings.max_facts:,} facts")
        rows = [fact.model_dump() for fact in sent.facts]
        batcher: Batcher = request.app.state.batcher
        # The store may be opened here, so even that is left to the writer's thread.
        added = await batcher.write(lambda: add_records(forecaster.fact_store, rows, backfill=sent.backfill))
        telemetry.facts.inc(added.num_added)
        return AddedOut(
            added=added.num_added,
            known=added.num_known,
            backfilled=added.num_backfilled,
            new_entities=added.untrained,
            last_sequence=added.last_sequence,
        )
