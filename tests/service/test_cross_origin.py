"""Pages of other sites: refused by default, and allowed when their origin is listed."""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr

from titer.forecasting.forecaster import Forecaster
from titer.service.app import create_app
from titer.service.settings import Settings

TALKS = {"subject": "Aldoria", "relation": "hold talks with"}
TOKEN = "a secret for tests"
LISTED, OTHER = {"Origin": "https://example.org"}, {"Origin": "https://evil.example"}
ASKING = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
WITH_TOKEN = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def client(shared: Forecaster) -> Iterator[TestClient]:
    settings = Settings(token=SecretStr(TOKEN), origins=("https://example.org",))
    with TestClient(create_app(shared, settings)) as client:
        yield client


@pytest.fixture(scope="module")
def closed(shared: Forecaster) -> Iterator[TestClient]:
    with TestClient(create_app(shared, Settings(token=SecretStr(TOKEN)))) as client:
        yield client


def permissions(headers) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.startswith("access-control-")}


def test_a_page_of_a_listed_origin_may_ask_and_read(client: TestClient):
    preflight = client.options("/v1/forecast", headers={**LISTED, **ASKING})
    assert preflight.status_code == 204
    allowed = permissions(preflight.headers)
    assert allowed["access-control-allow-origin"] == "https://example.org"
    assert "POST" in allowed["access-control-allow-methods"]
    assert {"Authorization", "Content-Type"} <= set(allowed["access-control-allow-headers"].split(", "))
    assert preflight.headers["content-security-policy"]
    response = client.post("/v1/forecast", json=TALKS, headers={**LISTED, **WITH_TOKEN, "Sec-Fetch-Site": "cross-site"})
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == "https://example.org"
    assert "Origin" in response.headers["vary"]
    assert "X-Request-Id" in response.headers["access-control-expose-headers"]


def test_errors_can_be_read_by_a_page_of_a_listed_origin(client: TestClient):
    for headers, status in ((LISTED, 401), ({**LISTED, **WITH_TOKEN}, 404)):
        response = client.get("/nowhere", headers=headers)
        assert response.status_code == status
        assert response.headers["access-control-allow-origin"] == "https://example.org"


def test_a_listed_origin_still_needs_the_token(client: TestClient):
    assert client.post("/v1/forecast", json=TALKS, headers=LISTED).status_code == 401
    assert client.options("/v1/forecast", headers=LISTED).status_code == 401  # no preflight without a method


@pytest.mark.parametrize("origin", ["https://evil.example", "https://example.org.evil.example", "null", "*", ""])
def test_any_other_origin_gets_no_permission(client: TestClient, origin: str):
    sent = {"Origin": origin, **ASKING, **WITH_TOKEN}
    preflight, read = client.options("/v1/forecast", headers=sent), client.get("/v1/model", headers=sent)
    assert preflight.status_code == 405
    for response in (preflight, read):
        assert permissions(response.headers) == {}
        assert "Origin" in response.headers["vary"]


def test_without_origins_no_page_gets_permission(closed: TestClient):
    for origin in (LISTED, OTHER):
        assert closed.options("/v1/forecast", headers={**origin, **ASKING}).status_code == 401
        for response in (
            closed.get("/v1/model", headers={**origin, **WITH_TOKEN}),
            closed.post("/v1/forecast", json=TALKS, headers={**origin, **WITH_TOKEN}),
        ):
            assert permissions(response.headers) == {}
    assert closed.post("/v1/forecast", json=TALKS, headers={**OTHER, **WITH_TOKEN}).status_code == 403
