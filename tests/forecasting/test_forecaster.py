import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from titer import Forecaster, Question
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.errors import DataError, TiterError, UnknownNameError
from titer.forecasting.wording.html import as_html
from titer.forecasting.wording.render import SHARES, as_text, what_if_as_text
from titer.models.recurrency import Recurrency
from titer.runs.train import train
from titer.store.adding import add_records
from titer.training.config import Config


@pytest.fixture(scope="module")
def forecaster(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Forecaster:
    run = train(world_data, Config.load(model="recurrency"), tmp_path_factory.mktemp("runs") / "recurrency")
    return Forecaster.load(run.path, "cpu")


def test_a_question_has_ranked_answers_with_evidence(forecaster: Forecaster):
    found = forecaster.ask("aldoria", "HOLD talks", at="2023-07-01", top=3, explain=2)
    assert (found.subject, found.relation, found.time) == ("Aldoria", "hold talks with", "2023-07-01")
    assert [answer.rank for answer in found.answers] == [1, 2, 3]
    assert {found.answers[0].entity, found.answers[1].entity} == {"Brenmark", "Drovia"}
    reason = found.answers[0].reasons[0]
    assert (reason.facts[0].subject, reason.facts[0].relation) == ("Aldoria", "hold talks with")
    assert len(found.answers[0].reasons) == 2


def test_the_subject_can_be_asked_for(forecaster: Forecaster):
    found = forecaster.ask(None, "brief", "Army of Aldoria", at=date(2023, 7, 1), explain=1)
    assert found.question == "? — brief — Army of Aldoria, 2023-07-01"
    assert found == forecaster.ask("?", "brief", "Army of Aldoria", at="2023-07-01", explain=1)
    assert found.answers[0].entity == "President of Aldoria"
    fact = found.answers[0].reasons[0].facts[0]
    assert (fact.subject, fact.relation, fact.object) == ("President of Aldoria", "brief", "Army of Aldoria")


def test_without_a_time_the_question_is_about_the_next_step(forecaster: Forecaster):
    found = forecaster.ask("Aldoria", "accuse")
    assert (found.time, found.ahead) == ("2023-07-01", 1)
    assert "1 day after the last known fact, 30 Jun 2023" in found.horizon


def test_the_horizon_says_how_far_ahead_a_question_is(forecaster: Forecaster):
    assert "31 days after" in forecaster.ask("Aldoria", "accuse", at="2023-07-31").horizon


def test_a_question_within_the_data_uses_only_earlier_facts(forecaster: Forecaster, world_data: Dataset):
    found = forecaster.ask("Aldoria", "hold talks with", at="2023-03-01", top=50, explain=1000)
    assert "within the data" in found.horizon
    times = [fact.time for answer in found.answers for reason in answer.reasons for fact in reason.facts]
    assert times
    assert max(times) < "2023-03-01"
    cut = world_data.facts.before(world_data.axis.step("2023-03-01"))
    past_only = Dataset("past", world_data.vocabulary, world_data.axis, cut, Facts.empty(), Facts.empty())
    model = forecaster.model
    assert isinstance(model, Recurrency)
    again = Forecaster(model, past_only).ask("Aldoria", "hold talks with", at="2023-03-01", top=50)
    assert [(a.entity, a.score) for a in again.answers] == [(a.entity, a.score) for a in found.answers]


def test_invalid_dates_and_names_are_refused(forecaster: Forecaster):
    with pytest.raises(DataError, match="not a date"):
        forecaster.ask("Aldoria", "accuse", at="someday")
    with pytest.raises(DataError, match="names only a year"):
        forecaster.ask("Aldoria", "accuse", at="2023")
    with pytest.raises(UnknownNameError, match="Aldoria"):
        forecaster.ask("Aldorai", "accuse")
    with pytest.raises(UnknownNameError, match="relation"):
        forecaster.ask("Aldoria", "teleport to")
    with pytest.raises(TiterError, match=r"exactly one of subject and object.*; likely and when say whether and when"):
        forecaster.ask("Aldoria", "accuse", "Brenmark")
    for names in (("?", "accuse", "?"), ("Aldoria", "?", "Brenmark"), ("Aldoria", "?", None)):
        with pytest.raises(TiterError, match=r"exactly one of subject and object.*; events lists the most likely"):
            forecaster.ask(*names)
    with pytest.raises(TiterError, match="top must be at least 1"):
        forecaster.ask("Aldoria", "accuse", top=0)


def test_a_forecast_turns_into_json_and_into_text(forecaster: Forecaster):
    found = forecaster.ask("Aldoria", "hold talks with", top=2, explain=2)
    assert json.loads(json.dumps(found.to_dict()))["answers"][1]["rank"] == 2
    text = as_text(found)
    assert "Aldoria — hold talks with — ?" in text
    assert re.search(r"Aldoria held talks with Brenmark on \d+ Jun 2023, \d+ days? before", text)
    assert str(found) == text


def test_text_shows_the_share_of_weaker_evidence(forecaster: Forecaster):
    found = forecaster.ask("Aldoria", "hold talks with", top=1, explain=1)
    (answer,) = found.answers
    some = replace(answer, reasons=(replace(answer.reasons[0], share=0.75),))
    assert " 25%  weaker evidence" in as_text(replace(found, answers=(some,)))


def test_forecasts_say_what_the_shares_of_evidence_are(forecaster: Forecaster):
    explained, plain = (forecaster.ask("Aldoria", "hold talks with", explain=explain) for explain in (1, 0))
    assert as_text(explained).endswith(f"\n\n{SHARES}")
    assert SHARES in as_html(explained).replace("&#x27;", "'")
    assert SHARES not in as_text(plain) + as_html(plain)
    changed = forecaster.what_if(Question("Aldoria", "hold talks with"), explain=1)
    assert what_if_as_text(changed).endswith(f"\n\n{SHARES}")


def test_the_temperature_changes_probabilities_and_no_share(any_forecaster: Forecaster):
    def shares(temperature: float) -> tuple[float, list[float]]:
        any_forecaster.model.temperature = temperature
        (answer,) = any_forecaster.ask("Aldoria", "hold talks with", top=1, explain=10).answers
        return answer.probability, [reason.share for reason in answer.reasons]

    (flat, of_flat), (sharp, of_sharp) = shares(3.0), shares(0.5)
    assert sharp > flat
    assert of_flat == pytest.approx(of_sharp)
    any_forecaster.model.temperature = 1.0


def test_reasons_that_differ_only_in_their_dates_are_grouped(forecaster: Forecaster, world_data: Dataset):
    found = forecaster.ask("Aldoria", "hold talks with", top=2, explain=1000)
    vocabulary = world_data.vocabulary
    talks = vocabulary.relations.index("hold talks with")
    for answer in found.answers:
        assert sum(reason.share for reason in answer.reasons) == pytest.approx(1)
        between = vocabulary.entities.index("Aldoria"), talks, vocabulary.entities.index(answer.entity)
        times = [fact[3] for fact in world_data.facts if fact[:3] == between]
        reason = answer.reasons[0]
        assert (reason.count, reason.facts[0].time) == (len(times), world_data.axis.label(max(times)))
        assert str(reason).endswith(f"before, the latest of {len(times)} such facts")
        said = [(fact.subject, fact.relation, fact.object) for reason in answer.reasons for fact in reason.facts]
        assert len(set(said)) == len(said)


def test_text_says_that_there_is_no_answer(forecaster: Forecaster):
    text = as_text(forecaster.ask("Aldoria", "invite", at="2023-01-01"))
    assert "No answer" in text


def test_a_missing_run_is_refused(tmp_path: Path):
    with pytest.raises(TiterError, match="not a run directory"):
        Forecaster.load(tmp_path)


def test_facts_can_be_added_through_the_forecaster(world_data: Dataset, tmp_path: Path):
    store = tmp_path / "facts.db"
    with Forecaster(Recurrency(world_data.vocabulary, world_data.axis), world_data, store) as forecaster:
        before = forecaster.vocabulary
        assert forecaster.ask("Aldoria", "accuse").time == "2023-07-01"
        assert not store.exists()  # a store is created when it is first used
        fact = {"subject": "Aldoria", "relation": "accuse", "object": "Newland", "time": "2023-07-04"}
        assert add_records(forecaster.fact_store, [fact]).added == 1
        found = forecaster.ask("Aldoria", "accuse", top=1000)
        assert found.time == "2023-07-05"
        assert "Newland" in [answer.entity for answer in found.answers]
        assert forecaster.fact_store is forecaster.fact_store
        assert "Newland" not in before.entities  # an earlier vocabulary does not change
        history = forecaster.history
        forecaster.refresh()
        assert forecaster.history is history
        forecaster.warm_up()


def test_a_forecaster_without_a_store_has_no_added_facts(forecaster: Forecaster, world_data: Dataset):
    with pytest.raises(TiterError, match="no fact store"):
        Forecaster(forecaster.model, world_data).fact_store  # noqa: B018


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"top": 0}, "top must be at least 1, not 0"),
        ({"top": 1.5}, "top must be a whole number, not 1.5"),
        ({"explain": -1}, "explain must be at least 0, not -1"),
        ({"explain": -2}, "explain must be at least 0, not -2"),
        ({"explain": "all"}, "explain must be a whole number, not 'all'"),
    ],
)
def test_limits_are_whole_numbers_in_range(forecaster: Forecaster, limits: dict[str, Any], message: str):
    question = Question("Aldoria", "accuse")
    with pytest.raises(TiterError, match=message):
        forecaster.ask("Aldoria", "accuse", **limits)
    with pytest.raises(TiterError, match=message):
        forecaster.ask_many([question], **limits)
    with pytest.raises(TiterError, match=message):
        forecaster.what_if(question, **limits)


def test_the_limit_of_an_explanation_is_not_negative(forecaster: Forecaster):
    question = Question("Aldoria", "accuse")
    answer = forecaster.ask("Aldoria", "accuse", top=1).answers[0].entity
    assert forecaster.explain(question, answer, limit=0).reasons == ()
    with pytest.raises(TiterError, match="limit must be at least 0, not -1"):
        forecaster.explain(question, answer, limit=-1)
