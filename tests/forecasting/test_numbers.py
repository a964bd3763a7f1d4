"""What a model computes for the hops of a path reaches the user: text, JSON, tables, pages, HTTP and commands."""

import json
from pathlib import Path

import pytest
import torch
from fastapi.testclient import TestClient
from torch import Tensor

from commands import titer
from titer.data.dataset import Dataset
from titer.forecasting.evidence import grouped_evidence
from titer.forecasting.forecast import Answer, PastFact, Reason
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.question import Question
from titer.forecasting.wording.html import as_html
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model
from titer.models.evidence import Edge, Evidence
from titer.models.registry import model_class
from titer.report.questions import _evidence
from titer.runs.run import Run
from titer.runs.train import train
from titer.service.app import create_app
from titer.service.settings import Settings
from titer.training.config import Config

QUESTION = Question("Caldera", "hold talks with", None, "2023-06-20")
SETTINGS = {
    "titer": {"beam_size": 16, "num_edges": 10, "path_length": 2, "num_snapshots": 5},
    "xerte": {"entity_dim": 8, "time_dim": 4, "num_edges": [8, 8]},
}
NAMES = {"titer": ["probability", "beta"], "xerte": ["attention"]}


class LoudEcho(Model):
    """The model of an author who reports numbers of their own: the latest edges of the subject are its answers."""

    name = "loud_echo_of_test_numbers"

    def score(self, queries: Queries, history: History) -> Tensor:
        edges = history.latest(queries.subject, queries.time, 5)
        scores = torch.full((len(queries), history.vocabulary.num_entities + 1), float("-inf"))
        return scores.scatter(1, edges.object, torch.arange(5.0, 0, -1).expand(edges.object.shape))[:, :-1]

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        edges = history.latest(query.subject, query.time, 5)
        found = [
            Edge(int(query.subject), int(edges.relation[0, i]), answer, int(edges.time[0, i]))
            for i in range(5)
            if int(edges.object[0, i]) == answer
        ]
        return [Evidence((edge,), 1 / len(found), numbers=({"echo": 2.5, "loudness": 1e-5},)) for edge in found][:limit]


@pytest.fixture(scope="module", params=SETTINGS)
def forecaster(request: pytest.FixtureRequest, world_data: Dataset) -> Forecaster:
    torch.manual_seed(0)
    config = Config.from_dict({"model": SETTINGS[request.param]}, request.param).model
    model = model_class(request.param)(world_data.vocabulary, world_data.axis, config).eval()
    return Forecaster(model, world_data)


def explained(forecaster: Forecaster) -> list[Answer]:
    found = forecaster.ask(QUESTION.subject, QUESTION.relation, at=QUESTION.at, top=3, explain=4)
    assert any(fact.numbers for answer in found.answers for reason in answer.reasons for fact in reason.facts)
    return list(found.answers)


def test_facts_of_a_path_have_the_numbers_of_the_model(forecaster: Forecaster):
    vocabulary = forecaster.vocabulary
    query = Queries.one(
        vocabulary.entities.index("Caldera"),
        vocabulary.relations.index("hold talks with"),
        forecaster.axis.step("2023-06-20"),
    )
    for answer in explained(forecaster):
        entity = vocabulary.entities.index(answer.entity)
        with torch.inference_mode():
            evidence = grouped_evidence(forecaster.model, query, entity, forecaster.history, 4)
        for reason, item in zip(answer.reasons, evidence, strict=True):
            assert [fact.numbers for fact in reason.facts] == list(item.numbers or [{}] * len(item.path))
            for fact in reason.facts:
                assert list(fact.numbers) == NAMES[forecaster.model.name]
                assert all(0 <= value <= 1 for value in fact.numbers.values())


def test_text_pages_and_reports_show_the_numbers_after_the_sentence(forecaster: Forecaster):
    forecast = forecaster.ask(QUESTION.subject, QUESTION.relation, at=QUESTION.at, top=3, explain=4)
    fact = forecast.answers[0].reasons[0].facts[0]
    shown = ", ".join(f"{name} {fact.numbers[name]:.2g}" for name in NAMES[forecaster.model.name])
    words = f"{fact.sentence} ({shown})"
    assert fact.words == words
    assert str(fact) == fact.sentence
    assert forecast.answers[0].reasons[0].text.startswith(words)
    assert words in str(forecast)
    assert words in as_html(forecast)
    in_report = "".join(text for part in _evidence(forecast, forecast.answers[0]) for text in part.itertext())
    assert words in in_report


def test_json_and_tables_have_the_numbers(forecaster: Forecaster):
    forecast = forecaster.ask(QUESTION.subject, QUESTION.relation, at=QUESTION.at, top=3, explain=4)
    fact = forecast.answers[0].reasons[0].facts[0]
    made = json.loads(json.dumps(forecast.to_dict()))["answers"][0]["reasons"][0]["facts"][0]
    assert made["numbers"] == fact.numbers
    row = forecast.to_table().to_pylist()[0]["evidence"][0]["facts"][0]
    assert {number["name"]: number["value"] for number in row["numbers"]} == fact.numbers


@pytest.mark.slow
def test_the_http_api_has_the_numbers_as_a_typed_field(forecaster: Forecaster):
    with TestClient(create_app(forecaster, Settings())) as client:
        request = {"subject": "Caldera", "relation": "hold talks with", "at": "2023-06-20", "top": 1, "explain": 1}
        [answer] = client.post("/v1/forecast", json=request).json()["answers"]
        schemas = client.get("/openapi.json").json()["components"]["schemas"]
    fact = answer["reasons"][0]["facts"][0]
    assert list(fact["numbers"]) == NAMES[forecaster.model.name]
    schema = schemas["PastFact-Output"]
    numbers = schema["properties"]["numbers"]
    assert "numbers" in schema["required"]
    assert (numbers["type"], numbers["additionalProperties"]) == ("object", {"type": "number"})
    assert numbers["description"].startswith("What the model computed for this hop")


def test_the_author_of_a_model_can_report_other_numbers(world_data: Dataset):
    forecaster = Forecaster(LoudEcho(world_data.vocabulary, world_data.axis), world_data)
    answer = explained(forecaster)[0]
    assert answer.reasons[0].facts[0].numbers == {"echo": 2.5, "loudness": 1e-5}
    assert "(echo 2.5, loudness 1e-05)" in answer.reasons[0].text


def test_numbers_must_be_those_of_every_hop():
    edge = Edge(0, 0, 1, 3)
    assert Evidence((edge,), 1.0).hops == ((edge, {}),)
    assert Evidence((edge, edge), 1.0, numbers=({"a": 1.0}, {})).hops == ((edge, {"a": 1.0}), (edge, {}))
    with pytest.raises(ValueError, match="evidence with 1 hops has numbers for 2"):
        Evidence((edge,), 1.0, numbers=({}, {}))


def test_facts_without_numbers_are_sentences_and_can_be_hashed():
    fact = PastFact("a", "meet", "b", "2020-01-01", "1 Jan 2020", "1 day", 1, "a met b")
    assert Reason((fact,), 1.0).text == fact.words == "a met b"
    assert len({fact, PastFact(**{**vars(fact), "numbers": {"x": 1.0}})}) == 2


@pytest.fixture(scope="module")
def run(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    settings = [f"model.{name}={value}" for name, value in SETTINGS["titer"].items()]
    config = Config.load(model="titer", overrides=[*settings, "training.epochs=0", "training.device=cpu"])
    return train(world_data, config, tmp_path_factory.mktemp("runs") / "titer")


@pytest.mark.slow
def test_a_command_explains_one_answer_of_any_rank(run: Run, tmp_path: Path):
    words = ["explain", run.path, "Caldera", "hold talks with"]
    forecaster = Forecaster.load(run, "cpu")
    last = forecaster.ask("Caldera", "hold talks with", at="2023-06-20", top=1000).answers[-1]
    assert last.rank > 3
    shown = titer(*words, last.entity, "--at", "2023-06-20", "--reasons", "2")
    assert f"{last.rank:>3}. {last.entity}" in shown
    assert "(probability " in shown
    found = json.loads(titer(*words, last.entity, "--at", "2023-06-20", "--json"))
    assert [answer["entity"] for answer in found["answers"]] == [last.entity]
    assert set(found["answers"][0]["reasons"][0]["facts"][0]["numbers"]) == {"probability", "beta"}
    best = forecaster.ask(None, "hold talks with", "Caldera", at="2023-06-20", top=1).answers[0]
    words = ["explain", run.path, best.entity, "hold talks with", "Caldera", "--asks-subject", "--at", "2023-06-20"]
    found = json.loads(titer(*words, "--json"))
    assert (found["subject"], found["object"]) == (None, "Caldera")
    assert found["answers"][0]["entity"] == best.entity
