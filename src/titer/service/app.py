"""The service itself."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from titer import __version__, drawing
from titer.forecasting.forecast import Answer, Forecast, Unanswered
from titer.forecasting.question import Question
from titer.forecasting.what_if import WhatIf
from titer.service import problems
from titer.service.batching import Batcher
from titer.service.documentation import describe_token, documentation
from titer.service.guard import Guard
from titer.service.knowledge import Knowledge
from titer.service.problems import ProblemError
from titer.service.schemas import (
    AddedOut,
    AnswerOut,
    ErrorOut,
    ExplainIn,
    FactIn,
    FactsIn,
    ForecastOut,
    HealthOut,
    ManyIn,
    ManyOut,
    ModelOut,
    NamesOut,
    OneOrManyIn,
    QuestionIn,
    WhatIfIn,
    WhatIfOut,
)
from titer.service.settings import Settings
from titer.service.telemetry import Telemetry

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorOut, "description": words}
    for status, words in {
        400: "The request cannot be read.",
        401: "A token is needed.",
        403: "Facts cannot be added here, or this is not the name of this machine.",
        413: "The body is too large.",
        422: "The request makes no sense; the message says why.",
        500: "The service's own fault.",
        503: "Busy, too slow, or without its database.",
    }.items()
}
MAX_NAMES = 50
PAGE = Path(__file__).parent / "page"
REPORT_STYLE = Path(drawing.__file__).parent / "style.css"
MEDIA_TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript"}


def create_app(knowledge: Knowledge, settings: Settings | None = None) -> FastAPI:
    """The service as an ASGI application."""
    settings = settings or Settings()
    measures = Telemetry()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        size, most = settings.batch_size, settings.max_waiting
        async with Batcher(knowledge, measures, size=size, max_waiting=most) as batcher:
            app.state.batcher = batcher
            yield
        knowledge.close()

    app = FastAPI(
        title="titer",
        version=__version__,
        description="Forecasts of what happens next in a temporal knowledge graph, and why.",
        lifespan=lifespan,
        docs_url=None,  # those pages fetch scripts from elsewhere; /docs is written below
        redoc_url=None,
        redirect_slashes=False,  # a redirect would name whatever host the request does
        responses=ERRORS,
    )
    problems.install(app)
    app.add_middleware(Guard, settings=settings, measures=measures)
    _add_questions(app, knowledge, settings)
    _add_facts(app, knowledge, settings, measures)
    _add_about(app, knowledge, measures)
    if settings.token is not None:
        describe_token(app)
    return app


def _add_questions(app: FastAPI, knowledge: Knowledge, settings: Settings) -> None:
    def batcher() -> Batcher:
        return app.state.batcher

    def check(top: int = 1, explain: int = 0, questions: int = 1) -> None:
        for name, value, most in (
            ("top", top, settings.max_answers),
            ("explain", explain, settings.max_evidence),
            ("questions", questions, settings.max_questions),
            ("answers with evidence, top for each question,", bool(explain) * questions * top, settings.max_explained),
        ):
            if value > most:
                raise ProblemError(422, "too_much", f"{name} may be at most {most}, not {value}")

    @app.post("/v1/forecast", summary="Answer one question, or many")
    async def forecast(asked: OneOrManyIn) -> ManyOut | ForecastOut:
        questions = asked.questions if isinstance(asked, ManyIn) else [asked]
        check(asked.top, asked.explain, len(questions))
        found = await batcher().ask([_question(one) for one in questions], asked.top, asked.explain)
        if isinstance(asked, ManyIn):
            return ManyOut.model_validate({"forecasts": [one.to_dict() for one in found]})
        return ForecastOut.model_validate(_answered(found[0]).to_dict())

    @app.post("/v1/explain", summary="Why an answer has its probability")
    async def explain(asked: ExplainIn) -> AnswerOut:
        check(explain=asked.limit)
        without, with_ = _facts(asked.without), _facts(asked.with_)

        def work() -> Answer:
            forecaster = knowledge.forecaster()
            return forecaster.explain(_question(asked), asked.answer, limit=asked.limit, without=without, with_=with_)

        return AnswerOut.model_validate((await batcher().alone(work)).to_dict())

    @app.post("/v1/what-if", summary="Answer as if some facts had not happened, or others had")
    async def what_if(asked: WhatIfIn) -> WhatIfOut:
        check(asked.top, asked.explain)
        without, with_ = _facts(asked.without), _facts(asked.with_)

        def work() -> WhatIf:
            forecaster = knowledge.forecaster()
            return forecaster.what_if(
                _question(asked), without=without, with_=with_, top=asked.top, explain=asked.explain
            )

        return WhatIfOut.model_validate((await batcher().alone(work)).to_dict())

    @app.get("/v1/entities", summary="Entities whose names begin with, or have, a text")
    async def entities(
        q: Annotated[str, Query(max_length=200)] = "", limit: Annotated[int, Query(ge=1, le=MAX_NAMES)] = 10
    ) -> NamesOut:
        return await asyncio.to_thread(lambda: NamesOut(names=knowledge.forecaster().entities.completions(q, limit)))

    @app.get("/v1/relations", summary="Relations whose names begin with, or have, a text")
    async def relations(
        q: Annotated[str, Query(max_length=200)] = "", limit: Annotated[int, Query(ge=1, le=MAX_NAMES)] = 10
    ) -> NamesOut:
        return await asyncio.to_thread(lambda: NamesOut(names=knowledge.forecaster().relations.completions(q, limit)))


def _add_facts(app: FastAPI, knowledge: Knowledge, settings: Settings, measures: Telemetry) -> None:
    @app.post("/v1/facts", summary="Add facts; they are in force for the next question")
    async def facts(request: Request, sent: FactsIn) -> AddedOut:
        if settings.token is None:
            raise ProblemError(403, "read_only", "facts can only be added to a service that was started with a token")
        if len(sent.facts) > settings.max_facts:
            raise ProblemError(422, "too_much", f"at most {settings.max_facts:,} facts in one request")
        rows = [fact.model_dump() for fact in sent.facts]
        batcher: Batcher = request.app.state.batcher
        added = await batcher.write(partial(knowledge.add, rows, backfill=sent.backfill))
        measures.facts.inc(added.num_added)
        return AddedOut(
            added=added.num_added,
            known=added.num_known,
            backfilled=added.num_backfilled,
            new_entities=added.untrained,
            last_sequence=added.last_sequence,
        )


def _add_about(app: FastAPI, knowledge: Knowledge, measures: Telemetry) -> None:
    @app.get("/healthz", summary="Whether the service is there", openapi_extra={"security": []})
    async def healthz() -> HealthOut:
        return HealthOut(status="ok")

    @app.get("/v1/model", summary="What answers, and what it knows")
    async def model() -> ModelOut:
        return await asyncio.to_thread(_about, knowledge)

    text = {"content": {"text/plain": {"schema": {"type": "string"}}}}

    @app.get("/metrics", summary="Counters for Prometheus", response_class=Response, responses={200: text})
    async def metrics() -> Response:
        return Response(measures.page(), media_type="text/plain; version=0.0.4; charset=utf-8")

    # Read once: no path from a request ever reaches the file system.
    files = {path.name: path for path in PAGE.iterdir() if path.suffix in MEDIA_TYPES} | {"report.css": REPORT_STYLE}
    pages = {name: (path.read_bytes(), MEDIA_TYPES[path.suffix]) for name, path in files.items()}

    @app.get("/", include_in_schema=False)
    @app.get("/page/{name}", include_in_schema=False)
    async def page(name: str = "index.html") -> Response:
        if name not in pages:
            raise HTTPException(404)
        content, media_type = pages[name]
        return Response(content, media_type=media_type)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(documentation(app.openapi()))


def _about(knowledge: Knowledge) -> ModelOut:
    run, forecaster = knowledge.run, knowledge.forecaster()
    history, axis = forecaster.history, forecaster.axis
    keep = ("split", "queries", "protocol", "metrics", "calibration")
    return ModelOut(
        model=run.config.model_name,
        dataset=run.dataset.name,
        checksum=run.dataset.checksum,
        entities=history.vocabulary.num_entities,
        relations=history.vocabulary.num_relations,
        facts=history.num_edges // 2,
        first=axis.label(history.first_time),
        last=axis.label(forecaster.last_time),
        next=axis.label(forecaster.last_time + 1),
        temperature=forecaster.model.temperature,
        config=run.config.to_dict(),
        evaluations=[{key: found[key] for key in keep if key in found} for found in run.evaluations],
    )


def _question(asked: QuestionIn) -> Question:
    return Question(asked.subject, asked.relation, asked.object, asked.at)


def _facts(given: list[FactIn]) -> list[tuple[str, str, str, str | int]]:
    return [(fact.subject, fact.relation, fact.object, fact.time) for fact in given]


def _answered(found: Forecast | Unanswered) -> Forecast:
    if isinstance(found, Unanswered):
        raise found.exception
    return found
