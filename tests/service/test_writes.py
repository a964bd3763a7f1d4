"""Requests that change something: tokens, origins, removal, the future."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr

from titer.forecasting.forecaster import Forecaster
from titer.runs.run import Run
from titer.service.app import create_app
from titer.service.clients import FIRST_SECONDS, RateLimit
from titer.service.problems import ProblemError
from titer.service.settings import Settings

TALKS = {"subject": "Aldoria", "relation": "hold talks with"}
TOKEN = {"Authorization": "Bearer secret"}


def opened(run: Run, folder: Path) -> Iterator[TestClient]:
    forecaster = Forecaster.load(run, "cpu", folder / "facts.db")
    settings = Settings(token=SecretStr("secret"), origins=("https://partner.example",))
    with TestClient(create_app(forecaster, settings), headers=TOKEN) as client:
        yield client


@pytest.fixture
def client(trained: Run, tmp_path: Path) -> Iterator[TestClient]:
    yield from opened(trained, tmp_path)


@pytest.fixture(scope="module")
def shared_client(trained: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client for tests that do not depend on which facts were added."""
    yield from opened(trained, tmp_path_factory.mktemp("writes"))


def fact(name: str, time: str = "2023-07-01") -> dict[str, str]:
    return {**TALKS, "object": name, "time": time}


def answers(client: TestClient) -> dict[str, float]:
    found = client.post("/v1/forecast", json={**TALKS, "at": "2023-07-09", "top": 100}).json()
    return {answer["entity"]: answer["probability"] for answer in found["answers"]}


def test_removed_facts_change_the_next_forecast_back(client: TestClient):
    before = answers(client)
    added = client.post("/v1/facts", json={"facts": [fact("Newland", f"2023-07-0{day}") for day in range(1, 6)]})
    assert added.json()["added"] == 5
    assert answers(client) != before
    listed = client.get("/v1/facts").json()["facts"]
    assert [one["sequence"] for one in listed] == [1, 2, 3, 4, 5]
    removed = client.post("/v1/facts/remove", json={"sequences": [1, 2], "note": "wrong"}).json()
    assert ([one["time"] for one in removed["removed"]], removed["facts"]) == (["2023-07-01", "2023-07-02"], 3)
    assert client.post("/v1/facts/undo").json()["facts"] == 0
    assert answers(client) == before
    assert client.post("/v1/facts/undo").status_code == 422
    assert client.post("/v1/facts/remove", json={"sequences": [99]}).status_code == 422


def test_a_fact_of_the_future_needs_a_field(client: TestClient):
    far = {"facts": [fact("Newland", "9999-12-31")]}
    refused = client.post("/v1/facts", json=far)
    assert refused.status_code == 422
    assert "allow_future" in refused.text
    assert client.post("/v1/facts", json={**far, "allow_future": True}).json()["added"] == 1


@pytest.mark.parametrize("path", ["/v1/facts/undo", "/v1/facts/remove"])
def test_removal_needs_the_token(shared_client: TestClient, path: str):
    body = {"sequences": [1]} if path.endswith("remove") else None
    assert shared_client.post(path, json=body, headers={"Authorization": ""}).status_code == 401
    assert shared_client.get("/v1/facts", headers={"Authorization": ""}).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://testserver"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Origin": "http://testserver"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "https://partner.example"}, 200),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://testserver:8001"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, 403),
        ({"Origin": "http://testserver:8001"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_pages_of_other_sites_cannot_write(shared_client: TestClient, headers: dict[str, str], status: int):
    assert shared_client.post("/v1/facts", json={"facts": [fact("Newland")]}, headers=headers).status_code == status


def test_wrong_tokens_are_delayed_and_counted(client: TestClient, caplog: pytest.LogCaptureFixture):
    seconds = [
        client.get("/v1/model", headers={"Authorization": "Bearer wrong"}).elapsed.total_seconds() for _ in range(4)
    ]
    # Each answer comes no sooner than after its delay, on a busy machine too.
    assert all(taken >= FIRST_SECONDS * 2**i for i, taken in enumerate(seconds)), seconds
    assert "titer_wrong_tokens_total 4.0" in client.get("/metrics").text
    assert [record.getMessage() for record in caplog.records if "wrong tokens" in record.getMessage()] == [
        "1 wrong tokens from testclient"
    ]


def test_a_client_may_be_limited_to_some_requests_a_minute():
    limit = RateLimit(3)
    for _ in range(3):
        limit.check("a")
    with pytest.raises(ProblemError, match="more than 3 requests"):
        limit.check("a")
    limit.check("b")


@pytest.mark.parametrize("at", [True, False, 1.0])
def test_a_time_is_text_or_a_whole_number(shared_client: TestClient, at: object):
    assert shared_client.post("/v1/forecast", json={**TALKS, "at": at}).status_code == 422
