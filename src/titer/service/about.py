"""Routes about the service itself: health, model, metrics."""

import asyncio

from fastapi import FastAPI, Response

from titer.service.loaded import Loaded
from titer.service.merging import merge_pages
from titer.service.peers import Peers
from titer.service.schemas import HealthOut, ModelOut, ReadyOut
from titer.service.serving import Current
from titer.service.telemetry import Telemetry

SHOWN = ("split", "queries", "protocol", "changed", "metrics", "calibration")
"""What is shown of an evaluation."""


def add_about_routes(app: FastAPI, telemetry: Telemetry, peers: Peers | None) -> None:
    """Add health, model and metrics to an app."""

    @app.get("/healthz", summary="Check that the service is running", openapi_extra={"security": []})
    async def healthz() -> HealthOut:
        return HealthOut(status="ok")

    @app.get("/readyz", summary="Check that questions can be answered now", openapi_extra={"security": []})
    async def readyz(current: Current) -> ReadyOut:
        await current.readiness.wait()
        return ReadyOut(status="ready")

    @app.get("/v1/model", summary="Describe the model and its data")
    async def model(current: Current) -> ModelOut:
        return await asyncio.to_thread(_describe, current)

    text = {"content": {"text/plain": {"schema": {"type": "string"}}}}

    @app.get("/metrics", summary="Return metrics for Prometheus", response_class=Response, responses={200: text})
    async def metrics() -> Response:
        page = telemetry.page()
        if peers is not None and peers.number is not None:
            page = merge_pages({**await peers.pages(), peers.number: page.decode()})
        return Response(page, media_type="text/plain; version=0.0.4; charset=utf-8")


def _describe(current: Loaded) -> ModelOut:
    forecaster, version = current.forecaster, current.version
    forecaster.refresh()
    run, dataset, axis = forecaster.run, forecaster.dataset, forecaster.axis
    history = forecaster.history
    return ModelOut(
        model=forecaster.model.name,
        version=version.name if version else None,
        trained=version.trained if version else None,
        dataset=dataset.name,
        checksum=dataset.checksum,
        entities=history.vocabulary.num_entities,
        relations=history.vocabulary.num_relations,
        facts=history.num_edges // 2,
        first=axis.label(history.first_time),
        last=axis.label(forecaster.last_time),
        next=axis.label(forecaster.last_time + 1),
        temperature=forecaster.model.temperature,
        config=run.config.to_dict() if run else {},
        evaluations=[{key: one[key] for key in SHOWN if key in one} for one in current.evaluations()[0]],
    )
