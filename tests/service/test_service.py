import re
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr

from service.process import completions
from titer.data.dataset import Dataset
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.question import Question
from titer.service.app import create_app
from titer.service.settings import Settings

TALKS = {"subject": "Aldoria", "relation": "hold talks with"}
TOKEN = "a secret for tests"
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def client(shared: Forecaster) -> Iterator[TestClient]:
    with TestClient(create_app(shared, Settings())) as client:
        yield client


@pytest.fixture
def guarded(forecaster: Forecaster) -> Iterator[TestClient]:
    with TestClient(create_app(forecaster, Settings(token=SecretStr(TOKEN)))) as client:
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        yield client


def error(response) -> dict:
    found = response.json()["error"]
    assert set(found) == {"code", "message", "suggestions", "details"}
    return found


def test_an_app_can_be_started_again(shared: Forecaster):
    app = create_app(shared, Settings(request_seconds=20))
    for _ in range(2):
        with TestClient(app) as client:
            assert client.post("/v1/forecast", json=TALKS).status_code == 200


class TestQuestions:
    def test_one_question_returns_ranked_answers_with_reasons(self, client: TestClient):
        found = client.post("/v1/forecast", json={**TALKS, "top": 3, "explain": 2}).json()
        assert [answer["rank"] for answer in found["answers"]] == [1, 2, 3]
        assert found["answers"][0]["entity"] in ("Brenmark", "Drovia")
        reason = found["answers"][0]["reasons"][0]
        assert reason["facts"][0]["subject"] == "Aldoria"
        assert reason["facts"][0]["age"] >= 1

    def test_many_questions_return_in_order_and_an_invalid_one_does_not_affect_the_others(self, client: TestClient):
        questions = [
            TALKS,
            {"subject": "Unknownia", "relation": "accuse"},
            {"relation": "brief", "object": "Army of Drovia"},
        ]
        found = client.post("/v1/forecast", json={"questions": questions, "top": 1}).json()["forecasts"]
        assert found[0]["subject"] == "Aldoria"
        assert "unknown entity 'Unknownia'" in found[1]["error"]
        assert found[2]["answers"][0]["entity"] == "President of Drovia"

    def test_an_unknown_name_gets_suggestions(self, client: TestClient):
        response = client.post("/v1/forecast", json={**TALKS, "subject": "Aldorai"})
        assert response.status_code == 422
        assert error(response)["suggestions"][0] == "Aldoria"

    def test_an_answer_of_any_rank_is_explained(self, client: TestClient):
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

    def test_what_if_leaves_out_all_such_facts_if_no_time_is_given(self, client: TestClient, shared: Forecaster):
        names = {"subject": "Aldoria", "relation": "hold talks with", "object": "Drovia"}
        found = client.post("/v1/what-if", json={**TALKS, "without": [names]}).json()
        assert found["without"][0]["sentence"].startswith("all ")
        fact = names["subject"], names["relation"], names["object"]
        expected = shared.what_if(Question(**TALKS), without=[fact])
        assert [move["entity"] for move in found["moves"]] == [move.entity for move in expected.moves]
        missing = client.post("/v1/what-if", json={**TALKS, "with": [names]})
        assert error(missing)["details"] == ["body.with.0.time: Field required"]

    @pytest.mark.parametrize(
        ("body", "detail"),
        [
            ({"subject": "Aldoria"}, "body.one.relation: Field required"),
            ({"questions": [{"subject": "Aldoria"}]}, "body.many.questions.0.relation: Field required"),
        ],
    )
    def test_validation_errors_name_the_intended_form(self, client: TestClient, body, detail):
        assert error(client.post("/v1/forecast", json=body))["details"] == [detail]

    def test_names_are_completed(self, client: TestClient):
        found = completions(client, "entity", "ald")
        assert found[0] == "Aldoria"
        assert "Central Bank of Aldoria" in found
        assert set(completions(client, "relation", "licence")) == {"grant licence to", "apply for licence from"}

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            ({**TALKS, "top": 1000}, "top may be at most"),
            ({**TALKS, "explain": 1000}, "explain may be at most"),
            ({"questions": [TALKS] * 1000}, "questions may be at most"),
        ],
    )
    def test_the_amount_requested_is_bounded(self, client: TestClient, body, message):
        response = client.post("/v1/forecast", json=body)
        assert response.status_code == 422
        assert message in error(response)["message"]

    @pytest.mark.parametrize("body", [{}, {"relation": 3}, {**TALKS, "colour": "red"}, [], "x", {**TALKS, "top": 0}])
    def test_an_invalid_body_is_reported(self, client: TestClient, body):
        response = client.post("/v1/forecast", json=body)
        assert response.status_code == 422
        assert error(response)["details"]


FACT = {"subject": "Aldoria", "relation": "hold talks with", "object": "Newland", "time": "2023-07-01"}


class TestFacts:
    def test_an_added_fact_affects_the_next_question_and_counts_once(self, guarded: TestClient):
        body = {"facts": [FACT, FACT]}
        assert guarded.post("/v1/facts", json=body).json() == {
            "added": 1, "known": 1, "backfilled": 0, "new_entities": ["Newland"], "last_sequence": 1,
        }  # fmt: skip
        assert guarded.post("/v1/facts", json=body).json()["added"] == 0
        found = guarded.post("/v1/explain", json={**TALKS, "answer": "Newland"}).json()
        assert found["reasons"][0]["facts"][0]["time"] == "2023-07-01"
        assert "Newland" in completions(guarded, "entity", "new")

    def test_a_fact_at_the_time_of_a_question_or_later_changes_nothing(self, guarded: TestClient):
        asked = {**TALKS, "at": "2023-07-01"}
        before = guarded.post("/v1/forecast", json=asked).json()["answers"]
        old = {**FACT, "object": "Hestria"}
        assert guarded.post("/v1/facts", json={"facts": [old, {**old, "time": "2023-07-05"}]}).json()["added"] == 2
        assert guarded.post("/v1/forecast", json=asked).json()["answers"] == before

    def test_an_invalid_fact_is_rejected_with_its_reason_and_none_is_stored(self, guarded: TestClient):
        bad = {**FACT, "relation": "dance with"}
        response = guarded.post("/v1/facts", json={"facts": [FACT, bad]})
        assert response.status_code == 422
        assert "dance with" in response.text
        assert guarded.post("/v1/facts", json={"facts": [FACT]}).json()["added"] == 1
        old = {**FACT, "time": "2023-01-05"}
        assert guarded.post("/v1/facts", json={"facts": [old]}).status_code == 422
        assert guarded.post("/v1/facts", json={"facts": [old], "backfill": True}).json()["backfilled"] == 1

    def test_a_service_without_a_token_is_read_only(self, client: TestClient):
        response = client.post("/v1/facts", json={"facts": [FACT]})
        assert response.status_code == 403
        assert error(response)["code"] == "read_only"


class TestAbout:
    def test_the_model_route_describes_model_and_data(self, client: TestClient, world_data: Dataset):
        found = client.get("/v1/model").json()
        assert (found["model"], found["dataset"], found["last"]) == ("recurrency", "small-world", "2023-06-30")
        assert found["facts"] == len(world_data.facts)
        assert found["evaluations"][0]["split"] == "valid"

    def test_requests_are_counted_by_route(self, client: TestClient):
        def count() -> tuple[float, str]:
            text = client.get("/metrics").text
            counts = re.findall(r'titer_requests_total\{route="/v1/forecast",status="200"\} (\S+)', text)
            return sum(float(one) for one in counts), text

        before, _ = count()
        client.post("/v1/forecast", json=TALKS)
        client.get("/made/up")
        after, text = count()
        assert after == before + 1
        assert "made" not in text

    def test_the_documentation_lists_every_route_and_loads_nothing_external(self, client: TestClient):
        text = client.get("/docs").text
        for path in client.get("/openapi.json").json()["paths"]:
            assert path in text
        assert "http://" not in text
        assert "https://" not in text

    def test_the_documentation_describes_every_request_body(self, client: TestClient):
        text = client.get("/docs").text
        for name in ("OneIn", "ManyIn", "ExplainIn", "WhatIfIn", "PictureIn", "FactsIn"):
            assert f"Request: {name}" in text
