"""The access log, ids of requests, and readiness."""

import json
import logging
import re
import threading
import time
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from titer.errors import StoreError
from titer.forecasting.forecaster import Forecaster
from titer.service import readiness
from titer.service.app import create_app
from titer.service.logs import REQUEST_ID, JsonFormatter, TextFormatter
from titer.service.settings import Settings

TALKS = {"subject": "Aldoria", "relation": "hold talks with"}
TOKEN = "a-secret-for-tests"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


@pytest.fixture(scope="module")
def client(shared: Forecaster) -> Iterator[TestClient]:
    with TestClient(create_app(shared, Settings(token=SecretStr(TOKEN)))) as client:
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        yield client


class Lines(logging.Handler):
    """A handler that keeps the lines of two formatters."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.json: list[dict] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.text.append(TextFormatter().format(record))
        self.json.append(json.loads(JsonFormatter().format(record)))


@pytest.fixture
def lines() -> Iterator[Lines]:
    found = Lines()
    loggers = [logging.getLogger(name) for name in ("titer", "uvicorn.error")]
    for logger in loggers:
        logger.addHandler(found)
        logger.setLevel(logging.INFO)
    yield found
    for logger in loggers:
        logger.removeHandler(found)
        logger.setLevel(logging.NOTSET)


def test_a_request_is_one_line_with_time_level_id_and_duration(client: TestClient, lines: Lines):
    response = client.post("/v1/forecast", json=TALKS, headers={"X-Request-Id": "from-the-proxy.1"})
    assert response.headers["X-Request-Id"] == "from-the-proxy.1"
    (text,), (fields,) = lines.text, lines.json
    assert re.fullmatch(rf"{TIME} INFO POST /v1/forecast 200 in \d+\.\d ms from testclient \[from-the-proxy\.1\]", text)
    assert re.fullmatch(TIME, fields.pop("time"))
    assert fields.pop("duration_ms") > 0
    assert fields.pop("process") > 0
    assert re.match("POST /v1/forecast 200 in ", fields.pop("message"))
    assert fields == {
        "level": "info", "request_id": "from-the-proxy.1", "method": "POST", "path": "/v1/forecast", "status": 200,
        "client": "testclient",
    }  # fmt: skip


def test_requests_without_a_sane_id_get_a_new_one(client: TestClient):
    sent = ["", "two words", "a" * 129, "line\x85", "<b>", "é", '"']
    got = [client.get("/healthz", headers=[(b"X-Request-Id", one.encode())]).headers["X-Request-Id"] for one in sent]
    assert len(set(got)) == len(sent)
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in got)


def test_no_token_is_logged(client: TestClient, lines: Lines):
    client.get("/v1/model")
    client.get(f"/v1/names?kind=entity&token={TOKEN}&q={TOKEN}")
    client.get("/v1/model", headers={"Authorization": f"Bearer wrong-{TOKEN}"})
    client.post("/v1/forecast", json={**TALKS, "token": TOKEN})
    assert len(lines.text) >= 4
    assert TOKEN not in "\n".join(lines.text) + json.dumps(lines.json)


@given(path=st.text(min_size=1, max_size=50))
def test_a_log_record_is_one_line_whatever_it_contains(path: str):
    record = logging.LogRecord("titer", logging.INFO, "", 0, "GET %s", (path,), None)
    text = TextFormatter().format(record)
    assert text.isprintable()
    line = JsonFormatter().format(record)
    assert "\n" not in line
    assert json.loads(line)["message"] == f"GET {path}"


def test_an_internal_error_is_logged_with_the_id_of_its_request(client, shared, monkeypatch, lines: Lines):
    def fail() -> None:
        raise RuntimeError("internals")

    monkeypatch.setattr(shared, "_current", fail)
    request = client.get("/v1/model").headers["X-Request-Id"]
    error, access = lines.json
    assert "internals" in error["exception"]
    assert error["request_id"] == access["request_id"] == request
    assert (access["status"], access["level"]) == (500, "error")
    assert REQUEST_ID.get() == ""


def test_health_checks_are_logged_only_when_they_fail(client, shared, monkeypatch, lines: Lines):
    for path in ("/healthz", "/readyz", "/metrics"):
        assert client.get(path).status_code == 200
    assert lines.text == []
    monkeypatch.setattr(readiness, "MAX_AGE", -1.0)
    monkeypatch.setattr(shared, "_current", lost)
    assert client.get("/readyz").status_code == 503
    assert [one["path"] for one in lines.json if "path" in one] == ["/readyz"]


def lost() -> None:
    raise StoreError("postgresql://admin@inside/facts cannot be used")


class TestReadiness:
    def test_a_service_without_its_store_is_healthy_but_not_ready(self, client, shared, monkeypatch):
        monkeypatch.setattr(readiness, "MAX_AGE", -1.0)
        assert client.get("/readyz", headers={"Authorization": ""}).json() == {"status": "ready"}
        monkeypatch.setattr(shared, "_current", lost)
        response = client.get("/readyz")
        assert (response.status_code, response.json()["error"]["code"]) == (503, "no_store")
        assert "admin" not in response.text
        assert client.get("/healthz").status_code == 200
        monkeypatch.setattr(shared, "_current", lambda: None)
        assert client.get("/readyz").status_code == 200

    @pytest.mark.slow
    def test_many_requests_cause_one_check(self, client, shared, monkeypatch):
        time.sleep(readiness.MAX_AGE)
        checks = []
        monkeypatch.setattr(shared, "_current", lambda: checks.append(time.sleep(0.2)))
        askers = [threading.Thread(target=client.get, args=("/readyz",)) for _ in range(8)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
        assert len(checks) == 1

    def test_a_store_that_does_not_respond_is_reported_in_time(self, client, shared, monkeypatch):
        free = threading.Event()
        monkeypatch.setattr(readiness, "MAX_AGE", -1.0)
        monkeypatch.setattr(readiness, "MAX_SECONDS", 0.2)
        monkeypatch.setattr(shared, "_current", lambda: free.wait(30))
        try:
            response = client.get("/readyz")
        finally:
            free.set()
        assert (response.status_code, response.json()["error"]["code"]) == (503, "no_store")
