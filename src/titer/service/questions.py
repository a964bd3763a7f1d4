"""Routes that answer questions."""

import asyncio

from fastapi import FastAPI, Response

from titer.forecasting.forecast import Answer, Forecast, Unanswered
from titer.forecasting.picture import Picture
from titer.forecasting.question import Question
from titer.forecasting.what_if import WhatIf
from titer.service.problems import check_limits
from titer.service.schemas import (
    ExplainIn,
    ManyIn,
    ManyOut,
    OneOrManyIn,
    PictureIn,
    QuestionIn,
    WhatIfIn,
)
from titer.service.serving import Current
from titer.service.settings import Settings

SVG = "image/svg+xml"


def add_question_routes(app: FastAPI, settings: Settings) -> None:
    """Add forecasts, evidence, what-ifs and pictures to an app."""

    def check(top: int = 1, explain: int = 0, questions: int = 1) -> None:
        check_limits(
            ("top", top, settings.max_answers),
            ("explain", explain, settings.max_evidence),
            ("the number of questions", questions, settings.max_questions),
            ("questions × top, with evidence,", bool(explain) * questions * top, settings.max_explained),
        )

    @app.post("/v1/forecast", summary="Answer one question or several, with evidence if asked for")
    async def forecast(request: OneOrManyIn, current: Current) -> ManyOut | Forecast:
        questions = request.questions if isinstance(request, ManyIn) else [request]
        check(request.top, request.explain, len(questions))
        found = await current.batcher.ask([_question(one) for one in questions], request.top, request.explain)
        return ManyOut(forecasts=found) if isinstance(request, ManyIn) else _answered(found[0])

    @app.post("/v1/explain", summary="Return one answer of any rank with its evidence")
    async def explain(request: ExplainIn, current: Current) -> Answer:
        check(explain=request.limit)

        def work() -> Answer:
            question = _question(request)
            return current.forecaster.explain(question, request.answer, limit=request.limit, **request.changes)

        return await current.batcher.alone(work)

    @app.post("/v1/what-if", summary="Compare the answers when facts are left out of the history or added to it")
    async def what_if(request: WhatIfIn, current: Current) -> WhatIf:
        check(request.top, request.explain)

        def work() -> WhatIf:
            question = _question(request)
            return current.forecaster.what_if(question, top=request.top, explain=request.explain, **request.changes)

        return await current.batcher.alone(work)

    @app.post(
        "/v1/picture",
        summary="Draw the evidence of a forecast that this service returned",
        response_class=Response,
        responses={200: {"content": {SVG: {"schema": {"type": "string"}}}}},
    )
    async def picture(request: PictureIn) -> Response:
        # Nothing is scored again: the picture needs only what the client has received already.
        drawn = await asyncio.to_thread(lambda: Picture.of(request.forecast, request.rank, embedded=request.embedded))
        return Response(drawn.svg, media_type=SVG)


def _question(request: QuestionIn) -> Question:
    return Question(request.subject, request.relation, request.object, request.at)


def _answered(found: Forecast | Unanswered) -> Forecast:
    if isinstance(found, Unanswered):
        raise found.exception
    return found
