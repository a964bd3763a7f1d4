"""The routes of the service about events."""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from titer.data.dataset import Dataset
from titer.events.model import EventModel
from titer.forecasting.forecaster import Forecaster
from titer.models.base import Model
from titer.service.app import create_app
from titer.service.settings import Settings

TALKS = {"subject": "Lumeria", "relation": "hold talks with", "object": "Aldoria"}

pytestmark = pytest.mark.slow  # an event model is trained first


@pytest.fixture(scope="module")
def client(world_data: Dataset, model: Model, events: EventModel) -> Iterator[TestClient]:
    forecaster = Forecaster(model, world_data)
    forecaster._events = events
    with TestClient(create_app(forecaster, Settings())) as client:
        yield client


def test_events_are_those_of_the_forecaster(client: TestClient):
    found = client.get("/v1/events", params={"within": "7d", "top": 3, "explain": 1}).json()
    assert [event["rank"] for event in found["events"]] == [1, 2, 3]
    assert found["steps"] == 7
    assert found["events"][0]["causes"][0]["facts"]


def test_likely_and_when_agree(client: TestClient):
    likely = client.get("/v1/likely", params={**TALKS, "within": 30}).json()
    when = client.get("/v1/when", params=TALKS).json()
    assert likely["event"]["probability"] == pytest.approx(when["curve"][-1]["by"], abs=1e-5)
    assert likely["event"] == when["event"]


def test_the_first_step_is_given_as_from(client: TestClient):
    assert client.get("/v1/events", params={"from": "2023-06-01", "top": 1}).json()["start"] == "2023-06-01"


@pytest.mark.parametrize(
    ("path", "params", "message"),
    [
        ("/v1/events", {"top": 1001}, "top may be at most 1,000"),
        ("/v1/events", {"within": "31"}, "1 to 30 time steps"),
        ("/v1/events", {"subject": "Aldorra"}, "unknown entity"),
        ("/v1/events", {"top": 101, "explain": 1}, "top may be at most 100"),
        ("/v1/likely", {"subject": "Aldoria"}, "relation"),
        ("/v1/when", {**TALKS, "from": "soon"}, "not a date"),
        ("/v1/past-events", {"limit": 501}, "limit"),
    ],
)
def test_invalid_requests_are_rejected(client: TestClient, path: str, params: dict, message: str):
    response = client.get(path, params=params)
    assert response.status_code == 422
    assert message in str(response.json()["error"])


@pytest.mark.parametrize(
    ("path", "params", "message", "suggestions"),
    [
        ("/v1/events", {"subjet": "Aldoria"}, "unknown query parameter 'subjet'; did you mean 'subject'?", ["subject"]),
        ("/v1/events", {"foo": "bar"}, "unknown query parameter 'foo'; choose from subject, relation", []),
        ("/v1/when", {**TALKS, "within": "4"}, "unknown query parameter 'within'", []),
        ("/v1/model", {"top": "4"}, "unknown query parameter 'top'; /v1/model has none", []),
    ],
)
def test_unknown_query_parameters_are_rejected(
    client: TestClient, path: str, params: dict, message: str, suggestions: list[str]
):
    response = client.get(path, params=params)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (422, "unknown_parameter")
    assert error["message"].startswith(message)
    assert error["suggestions"] == suggestions


@pytest.mark.parametrize("path", ["/question?subject=Aldoria&any=thing", "/healthz?any=thing", "/?utm_source=mail"])
def test_pages_and_probes_accept_any_parameter(client: TestClient, path: str):
    assert client.get(path).status_code == 200


def test_the_latest_facts_are_listed_latest_first(client: TestClient, world_data: Dataset):
    facts = client.get("/v1/past-events", params={"entity": "Aldoria", "limit": 5}).json()["facts"]
    assert len(facts) == 5
    assert [fact["time"] for fact in facts] == sorted((fact["time"] for fact in facts), reverse=True)
    assert all("Aldoria" in (fact["subject"], fact["object"]) for fact in facts)


def test_a_forecaster_without_a_run_has_no_record(client: TestClient):
    assert client.get("/v1/events/record").json() == {"evaluations": []}
