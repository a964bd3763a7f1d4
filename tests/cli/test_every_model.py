"""Every model of the registry with every command; a new model is tested here as soon as it is registered."""

import json
import re
import shutil
from dataclasses import fields
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from commands import invoke, titer
from quick_events import store_quick_events
from titer.data.dataset import Dataset
from titer.data.dataset_folder import save_dataset
from titer.data.split import split_by_fraction
from titer.errors import NoEvidenceError
from titer.forecasting.forecaster import Forecaster
from titer.models.registry import BUILT_IN, model_class
from titer.service.app import create_app
from titer.training.layout import EVENTS

pytestmark = pytest.mark.slow

DAYS = 20
WHOM = ("Aldoria", "hold talks with")
WHO = ("?", "brief", "Army of Aldoria")
EARLIER = "Aldoria | hold talks with | {} | 2023-01-20"


@pytest.fixture(scope="module")
def few_days(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the first days of the small world."""
    splits = split_by_fraction(world_data.facts.before(DAYS), (0.7, 0.15, 0.15))
    folder = tmp_path_factory.mktemp("data") / "few-days"
    save_dataset(Dataset("few-days", world_data.vocabulary, world_data.axis, *splits), folder)
    return folder


@pytest.fixture(scope="module", params=sorted(BUILT_IN))
def run(request: pytest.FixtureRequest, few_days: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of one model, with all its embeddings as short as possible."""
    out = tmp_path_factory.mktemp("runs") / request.param
    sizes = [field.name for field in fields(model_class(request.param).Config) if field.name.endswith("dim")]
    settings = ["training.epochs=1", *(f"model.{name}=8" for name in sizes)]
    shown = titer("train", few_days, "--model", request.param, "--out", out, *(f"--set={word}" for word in settings))
    assert f"{request.param} trained on few-days, validation MRR " in shown
    return out


def has_evidence(run: Path) -> bool:
    return model_class(run.name).explains()


def test_it_is_evaluated_compared_and_counted(run: Path):
    assert re.search(r"^all +\d+ +\d+\.\d\d ", titer("evaluate", run), flags=re.MULTILINE)
    for words in (["compare", run], ["compare", "--paper", run]):
        assert re.search(rf"\b{run.name} .*\d\.\d\d", titer(*words))
    assert json.loads(titer("size", run, "--json"))["model"] == run.name


@pytest.mark.parametrize("question", [WHOM, WHO], ids=["object", "subject"])
def test_it_answers_both_directions_with_evidence_if_it_has_any(run: Path, question: tuple[str, ...]):
    shown = invoke("forecast", run, *question, "--explain").output  # with the notes on standard error
    assert re.search(r"^  1\. \w+.* \d+\.\d%$", shown, flags=re.MULTILINE)
    assert bool(re.search(r"^ +\d+%  \w+.* days? before", shown, flags=re.MULTILINE)) == has_evidence(run)
    assert (f"note: {run.name} has no evidence to show" in shown) != has_evidence(run)
    assert json.loads(titer("forecast", run, *question, "--json"))["answers"][0]["rank"] == 1


def test_it_answers_what_if_and_a_file_of_questions(run: Path, tmp_path: Path):
    questions, answers = tmp_path / "questions.csv", tmp_path / "answers.jsonl"
    questions.write_text("subject,relation,object\nAldoria,hold talks with,?\n?,brief,Army of Aldoria\n")
    titer("forecast", run, "--file", questions, "--out", answers, "--top", "2")
    assert len(answers.read_text().splitlines()) == 4
    shown = titer("forecast", run, *WHOM, "--at", "2023-01-21", "--with", EARLIER.format("Newland"))
    assert "new entities: Newland" in shown


def test_added_facts_are_used_and_may_have_unseen_entities(run: Path, tmp_path: Path):
    table, store = tmp_path / "new.csv", f"sqlite:///{tmp_path / 'facts.db'}"
    table.write_text("subject,relation,object,time\nAldoria,hold talks with,Newland,2023-01-21\n")
    assert "1 fact added" in titer("facts", "add", run, table, "--store", store)
    shown = titer("forecast", run, *WHOM, "--top", "1000", "--store", store)
    assert "2023-01-22" in shown
    assert re.search(r"\d\. Newland +\d+\.\d%", shown)
    assert "No answer" not in titer("forecast", run, "Newland", "hold talks with", "--store", store)


def test_its_evidence_is_measured_if_it_has_any(run: Path):
    words = "faithfulness", run, "--questions", "10"
    if has_evidence(run):
        assert re.search(rf"\b{run.name} +\d+ ", titer(*words))
    else:
        with pytest.raises(NoEvidenceError, match=f"^{run.name} has no evidence to show$"):
            titer(*words)


@pytest.fixture(scope="module")
def event_model(few_days: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of an event model, which all models share: to train one for each takes longer than the tests."""
    run = tmp_path_factory.mktemp("events") / "run"
    titer("train", few_days, "--model", "recurrency", "--out", run)
    store_quick_events(run)
    return run / EVENTS


def test_its_report_is_complete(run: Path, event_model: Path, tmp_path: Path):
    shutil.copy(event_model, run / EVENTS)
    titer("report", run, "--out", tmp_path / "report.html", "--examples", "5")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"<h1>{run.name} on few-days</h1>" in page
    assert ("has no evidence to show" in page) != has_evidence(run)
    assert ('class="arc"' in page) == has_evidence(run)


def test_the_service_answers_with_it(run: Path):
    with TestClient(create_app(Forecaster.load(run, "cpu"))) as client:
        assert client.get("/v1/model").json()["model"] == run.name
        asked = {"subject": WHOM[0], "relation": WHOM[1]}
        found = client.post("/v1/forecast", json={**asked, "top": 50, "explain": 2}).json()
        explained = [answer["entity"] for answer in found["answers"] if any(r["facts"] for r in answer["reasons"])]
        assert bool(explained) == has_evidence(run)
        best = explained[0] if explained else found["answers"][0]["entity"]
        why = client.post("/v1/explain", json={**asked, "answer": best}).json()
        assert (why["entity"], bool(why["reasons"])) == (best, has_evidence(run))
        facts = [fact for reason in why["reasons"] for fact in reason["facts"]][:1]
        without = [{name: fact[name] for name in ("subject", "relation", "object", "time")} for fact in facts]
        assert client.post("/v1/what-if", json={**asked, "without": without}).status_code == 200
