import base64
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr

from titer.data.dataset import Dataset
from titer.service.app import create_app
from titer.service.knowledge import Knowledge
from titer.service.settings import Settings

TALKS = {"subject": "Aldoria", "relation": "hold talks with"}
TOKEN = "a secret for tests"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def client(knowledge: Knowledge) -> Iterator[TestClient]:
    with TestClient(create_app(knowledge, Settings())) as client:
        yield client


@pytest.fixture
def guarded(knowledge: Knowledge) -> Iterator[TestClient]:
    with TestClient(create_app(knowledge, Settings(token=SecretStr(TOKEN)))) as client:
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        yield client


def error(response) -> dict:
    found = response.json()["error"]
    assert set(found) == {"code", "message", "suggestions", "details"}
    return found


class TestQuestions:
    def test_one_question_has_ranked_answers_with_reasons(self, client: TestClient):
        found = client.post("/v1/forecast", json={**TALKS, "top": 3, "explain": 2}).json()
        assert [answer["rank"] for answer in found["answers"]] == [1, 2, 3]
        assert found["answers"][0]["entity"] in ("Brenmark", "Drovia")
        reason = found["answers"][0]["reasons"][0]
        assert reason["facts"][0]["subject"] == "Aldoria"
        assert reason["facts"][0]["age"] >= 1

    def test_many_questions_come_back_in_order_and_a_bad_one_does_not_stop_the_others(self, client: TestClient):
        questions = [
            TALKS,
            {"subject": "Nobody", "relation": "accuse"},
            {"relation": "brief", "object": "Army of Drovia"},
        ]
        found = client.post("/v1/forecast", json={"questions": questions, "top": 1}).json()["forecasts"]
        assert found[0]["subject"] == "Aldoria"
        assert "unknown entity 'Nobody'" in found[1]["error"]
        assert found[2]["answers"][0]["entity"] == "President of Drovia"

    def test_an_unknown_name_gets_suggestions(self, client: TestClient):
        response = client.post("/v1/forecast", json={**TALKS, "subject": "Aldorai"})
        assert response.status_code == 422
        assert error(response)["suggestions"][0] == "Aldoria"

    def test_an_answer_is_explained_whatever_its_rank(self, client: TestClient):
        found = client.post("/v1/explain", json={**TALKS, "answer": "Drovia", "limit": 50}).json()
        assert found["entity"] == "Drovia"
        assert 0.9 < sum(reason["share"] for reason in found["reasons"]) <= 1.0001

    def test_what_if_shows_what_moves(self, client: TestClient):
        best = client.post("/v1/explain", json={**TALKS, "answer": "Drovia"}).json()["reasons"][0]["facts"][0]
        fact = {key: best[key] for key in ("subject", "relation", "object", "time")}
        found = client.post("/v1/what-if", json={**TALKS, "without": [fact]}).json()
        (move,) = (move for move in found["moves"] if move["entity"] == "Drovia")
        assert move["probability_after"] < move["probability_before"]
        assert found["without"][0]["sentence"] == best["sentence"]
        again = client.post("/v1/explain", json={**TALKS, "answer": "Drovia", "without": [fact]}).json()
        assert again["reasons"][0]["facts"][0] != best

    @pytest.mark.parametrize(
        ("body", "detail"),
        [
            ({"subject": "Aldoria"}, "body.one.relation: Field required"),
            ({"questions": [{"subject": "Aldoria"}]}, "body.many.questions.0.relation: Field required"),
        ],
    )
    def test_a_mistake_is_named_for_what_was_meant_one_question_or_many(self, client: TestClient, body, detail):
        assert error(client.post("/v1/forecast", json=body))["details"] == [detail]

    def test_names_are_completed(self, client: TestClient):
        assert client.get("/v1/entities", params={"q": "ald"}).json()["names"][0] == "Aldoria"
        assert "Central Bank of Aldoria" in client.get("/v1/entities", params={"q": "ald"}).json()["names"]
        assert client.get("/v1/relations", params={"q": "licence"}).json()["names"] == [
            "grant licence to",
            "apply for licence from",
        ]

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            ({**TALKS, "top": 1000}, "top may be at most"),
            ({**TALKS, "explain": 1000}, "explain may be at most"),
            ({"questions": [TALKS] * 1000}, "questions may be at most"),
        ],
    )
    def test_what_is_asked_is_bounded(self, client: TestClient, body, message):
        response = client.post("/v1/forecast", json=body)
        assert response.status_code == 422
        assert message in error(response)["message"]

    @pytest.mark.parametrize("body", [{}, {"relation": 3}, {**TALKS, "colour": "red"}, [], "x", {**TALKS, "top": 0}])
    def test_a_body_that_makes_no_sense_is_said_to(self, client: TestClient, body):
        response = client.post("/v1/forecast", json=body)
        assert response.status_code == 422
        assert error(response)["details"]


FACT = {"subject": "Aldoria", "relation": "hold talks with", "object": "Newland", "time": "2023-07-01"}


class TestFacts:
    def test_a_fact_is_in_force_for_the_next_question_and_counts_once(self, guarded: TestClient):
        body = {"facts": [FACT, FACT]}
        assert guarded.post("/v1/facts", json=body).json() == {
            "added": 1, "known": 1, "backfilled": 0, "new_entities": ["Newland"], "last_sequence": 1,
        }  # fmt: skip
        assert guarded.post("/v1/facts", json=body).json()["added"] == 0
        found = guarded.post("/v1/explain", json={**TALKS, "answer": "Newland"}).json()
        assert found["reasons"][0]["facts"][0]["time"] == "2023-07-01"
        assert "Newland" in guarded.get("/v1/entities", params={"q": "new"}).json()["names"]

    def test_a_fact_at_the_time_of_a_question_or_later_changes_nothing(self, guarded: TestClient):
        asked = {**TALKS, "at": "2023-07-01"}
        before = guarded.post("/v1/forecast", json=asked).json()["answers"]
        old = {**FACT, "object": "Hestria"}
        assert guarded.post("/v1/facts", json={"facts": [old, {**old, "time": "2023-07-05"}]}).json()["added"] == 2
        assert guarded.post("/v1/forecast", json=asked).json()["answers"] == before

    def test_a_bad_fact_is_refused_with_its_reason_and_none_is_kept(self, guarded: TestClient):
        bad = {**FACT, "relation": "dance with"}
        response = guarded.post("/v1/facts", json={"facts": [FACT, bad]})
        assert response.status_code == 422
        assert "dance with" in response.text
        assert guarded.post("/v1/facts", json={"facts": [FACT]}).json()["added"] == 1
        old = {**FACT, "time": "2023-01-05"}
        assert guarded.post("/v1/facts", json={"facts": [old]}).status_code == 422
        assert guarded.post("/v1/facts", json={"facts": [old], "backfill": True}).json()["backfilled"] == 1

    def test_nobody_adds_facts_to_a_service_without_a_token(self, client: TestClient):
        response = client.post("/v1/facts", json={"facts": [FACT]})
        assert response.status_code == 403
        assert error(response)["code"] == "read_only"


class TestSafety:
    def test_with_a_token_everything_but_health_needs_it(self, guarded: TestClient):
        del guarded.headers["Authorization"]
        assert guarded.get("/healthz").status_code == 200
        for path in ("/", "/docs", "/v1/model", "/metrics", "/openapi.json", "/page/main.js", "/v1/entities"):
            response = guarded.get(path)
            assert response.status_code == 401, path
            assert error(response)["code"] == "needs_token"
        for wrong in (f"Bearer {TOKEN}x", "Bearer", f"Basic {TOKEN}", "Basic !", f"Token {TOKEN}"):
            assert guarded.get("/v1/model", headers={"Authorization": wrong}).status_code == 401
        right = base64.b64encode(f"anyone:{TOKEN}".encode()).decode()
        assert guarded.get("/", headers={"Authorization": f"Basic {right}"}).status_code == 200

    def test_every_answer_has_the_headers_of_safety(self, client: TestClient):
        for path in ("/", "/healthz", "/nowhere", "/page/main.js", "/docs"):
            headers = client.get(path).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"

    def test_no_path_leads_out_of_the_page(self, client: TestClient):
        for path in ("/page/../app.py", "/page/%2e%2e/app.py", "/page/..%2fapp.py", "/page//etc/passwd", "/page/"):
            assert client.get(path).status_code in (404, 405), path

    def test_a_body_that_is_too_large_is_turned_away(self, knowledge: Knowledge):
        with TestClient(create_app(knowledge, Settings(max_bytes=2000))) as client:
            response = client.post("/v1/forecast", json={**TALKS, "subject": "x" * 3000})
            assert response.status_code == 413
            assert error(response)["code"] == "too_large"

            def pieces() -> Iterator[bytes]:
                yield from [b'{"subject": "'] + [b"x" * 1000] * 5

            assert client.post("/v1/forecast", content=pieces()).status_code == 413

    def test_errors_have_one_shape(self, client: TestClient):
        assert error(client.get("/nowhere"))["code"] == "not_found"
        assert error(client.get("/v1/forecast"))["code"] == "wrong_method"
        assert error(client.post("/v1/forecast", content=b"{", headers=JSON))["code"] == "not_json"

    def test_a_request_that_takes_too_long_is_ended(self, knowledge: Knowledge):
        with TestClient(create_app(knowledge, Settings(request_seconds=1e-6))) as client:
            response = client.post("/v1/forecast", json=TALKS)
            assert response.status_code == 503
            assert error(response)["code"] == "too_slow"


class TestAbout:
    def test_the_model_says_what_it_is_and_knows(self, client: TestClient, world_data: Dataset):
        found = client.get("/v1/model").json()
        assert (found["model"], found["dataset"], found["last"]) == ("recurrency", "small-world", "2023-06-30")
        assert found["facts"] == len(world_data.facts)
        assert found["evaluations"][0]["split"] == "valid"

    def test_requests_are_counted_by_route(self, client: TestClient):
        client.post("/v1/forecast", json=TALKS)
        client.get("/made/up")
        text = client.get("/metrics").text
        assert 'titer_requests_total{route="/v1/forecast",status="200"} 1.0' in text
        assert "made" not in text

    def test_the_documentation_names_every_route_and_fetches_nothing_from_elsewhere(self, client: TestClient):
        text = client.get("/docs").text
        for path in client.get("/openapi.json").json()["paths"]:
            assert path in text
        assert "http://" not in text
        assert "https://" not in text
