"""Whatever the schema allows, and much that it does not: never an error of the server's own, and never an answer that
the schema does not describe."""

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from pydantic import SecretStr
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from quick_events import store_quick_events
from titer.data.dataset import Dataset
from titer.runs.run import Run
from titer.runs.train import train
from titer.service import clients
from titer.service.app import create_app
from titer.service.loaded import load_version
from titer.service.settings import Settings
from titer.training.config import Config

TOKEN = "a secret for tests"
NO_HEALTH_CHECKS = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
# That a form is right does not make a name known, so a refusal (422) is no failure.
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
TALKS = {"subject": "Aldoria", "relation": "hold talks with"}
FACT = {**TALKS, "object": "Drovia", "time": "2023-06-01"}
PAST = {**FACT, "date": "1 Jun 2023", "ago": "30 days", "age": 30, "sentence": "Aldoria held talks with Drovia"}
REASON = {"facts": [PAST], "share": 1.0, "text": "Aldoria held talks with Drovia"}
ANSWER = {"rank": 1, "entity": "Drovia", "score": 1.0, "probability": 0.5, "reasons": [REASON]}
FORECAST = {
    **TALKS,
    "object": None,
    "time": "2023-07-01",
    "date": "1 Jul 2023",
    "ahead": 1,
    "horizon": "1 day after the last known fact, 30 Jun 2023",
    "answers": [ANSWER],
}
GOOD: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", "/healthz", {}),
    ("GET", "/readyz", {}),
    ("GET", "/metrics", {}),
    ("GET", "/v1/model", {}),
    ("GET", "/v1/names", {"params": {"kind": "relation", "q": "al", "limit": 3}}),
    ("GET", "/v1/events", {"params": {"within": "7d", "top": 3, "explain": 1}}),
    ("GET", "/v1/likely", {"params": {**TALKS, "object": "Drovia", "within": "10d"}}),
    ("GET", "/v1/when", {"params": {**TALKS, "object": "Drovia"}}),
    ("POST", "/v1/when", {"json": {**TALKS, "object": "Drovia", "with": [{**FACT, "object": "Newland"}]}}),
    ("GET", "/v1/past-forecasts", {}),
    ("GET", "/v1/past-forecast", {"params": {"start": "2023-06-22"}}),
    ("GET", "/v1/past-events", {"params": {"entity": "Aldoria", "limit": 3}}),
    ("GET", "/v1/events/record", {}),
    ("GET", "/v1/names", {"params": {"kind": "entity", "q": "al"}}),
    ("GET", "/v1/entity", {"params": {"name": "Aldoria"}}),
    ("GET", "/v1/relation", {"params": {"name": "hold talks with"}}),
    ("GET", "/v1/overview", {}),
    ("POST", "/v1/reload", {}),
    ("POST", "/v1/forecast", {"json": {**TALKS, "explain": 2}}),
    (
        "POST",
        "/v1/forecast",
        {"json": {"questions": [TALKS, {"relation": "accuse", "object": "Unknownia"}], "explain": 1}},
    ),
    ("POST", "/v1/explain", {"json": {**TALKS, "answer": "Drovia"}}),
    ("POST", "/v1/what-if", {"json": {**TALKS, "with": [{**FACT, "object": "Newland"}], "explain": 1}}),
    ("POST", "/v1/picture", {"json": {"forecast": FORECAST}}),
    ("POST", "/v1/facts", {"json": {"facts": [{**FACT, "time": "2023-07-01"}]}}),
    ("GET", "/v1/facts", {"params": {"limit": 5}}),
    ("POST", "/v1/facts/remove", {"json": {"sequences": [1], "note": "wrong"}}),
    ("POST", "/v1/facts", {"json": {"facts": [{**FACT, "time": "2023-07-02"}]}}),
    ("POST", "/v1/facts/undo", {}),
]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("schema")]


@pytest.fixture(scope="module")
def trained(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = train(world_data, Config.from_dict({}, "recurrency"), tmp_path_factory.mktemp("schema") / "run")
    store_quick_events(run.path)  # otherwise the first request for events would wait for its training
    return run


def application(run: Run, folder: Path, token: str | None) -> FastAPI:
    load = partial(load_version, run.path, "cpu", folder / "facts.db")
    forecaster, version = load()
    settings = Settings(token=SecretStr(token)) if token else Settings()
    return create_app(forecaster, settings, version=version, load=load)


@contextmanager
def described(app: FastAPI, token: str | None) -> Generator[Any]:
    """Yield the OpenAPI description of a service, read with the token."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    yield schemathesis.openapi.from_asgi("/openapi.json", app, headers=headers)


@pytest.mark.parametrize("service", [TOKEN, None], ids=["guarded", "open"])
def test_no_request_causes_a_server_error(trained: Run, tmp_path: Path, service: str | None):
    headers = {"Authorization": f"Bearer {TOKEN}"} if service else {}
    with described(application(trained, tmp_path, service), service) as api:
        operations = [result.ok() for result in api.get_all_operations()]
        assert len(operations) >= 9
        for operation in operations:

            @settings(max_examples=10, deadline=None, suppress_health_check=NO_HEALTH_CHECKS, database=None)
            @given(case=operation.as_strategy())
            def ask(case) -> None:
                response = case.call(headers=headers)
                assert response.status_code < 500, (case.as_curl_command(), response.text)
                case.validate_response(response, checks=CHECKS)

            ask()


@pytest.mark.parametrize("sent", [{}, {"Authorization": "Bearer wrong"}], ids=["none", "wrong"])
def test_every_request_without_the_token_is_rejected(
    trained: Run, tmp_path: Path, sent: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(clients, "MAX_SECONDS", 0.001)  # of the delay of wrong tokens
    with described(application(trained, tmp_path, TOKEN), TOKEN) as api:
        for operation in (result.ok() for result in api.get_all_operations()):

            @settings(max_examples=5, deadline=None, suppress_health_check=NO_HEALTH_CHECKS)
            @given(case=operation.as_strategy())
            def ask(case) -> None:
                case.headers = {}
                response = case.call(headers=sent)
                assert response.status_code == (200 if case.path in ("/healthz", "/readyz") else 401)
                case.validate_response(response, checks=CHECKS)

            ask()


def test_responses_match_the_schema(trained: Run, tmp_path: Path):
    app = application(trained, tmp_path, TOKEN)
    with described(app, TOKEN) as api, TestClient(app, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        for method, path, request in GOOD:
            response = client.request(method, path, **request)
            assert response.status_code == 200, (path, response.text)
            api[path][method].validate_response(response)
        routes = {(one.method.upper(), one.path) for one in (result.ok() for result in api.get_all_operations())}
        assert routes == {(method, path) for method, path, _ in GOOD}
        assert api.raw_schema["security"]
        for path in ("/healthz", "/readyz"):
            assert api.raw_schema["paths"][path]["get"]["security"] == []
