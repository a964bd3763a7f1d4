"""Facts that last are shown and removed as whole terms; attributes are shown with the facts."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecasting.conftest import make_model
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.importing import import_dataset
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.question import Question
from titer.forecasting.terms import ImportedRows
from titer.graph.history import History
from titer.models.evidence import Edge

OFFICES = """subject,relation,object,start,end,party
Ada,leads,Arlen,2020-01,2020-10,Blue
Ben,leads,Arlen,2020-11,2021-06,
Ada,leads,Arlen,2021-07,2022-12,Blue
Cleo,leads,Borsk,2020-01,2022-12,Red
"""


@pytest.fixture
def offices(tmp_path: Path) -> Dataset:
    (tmp_path / "offices.csv").write_text(OFFICES)
    return import_dataset(tmp_path / "offices.csv", unit="month", attributes=["party"], split=(1, 0, 0))


@pytest.fixture
def forecaster(offices: Dataset) -> Forecaster:
    return Forecaster(make_model("recurrency", offices), offices)


def test_evidence_is_a_term_that_has_ended(forecaster: Forecaster):
    (ada, ben) = forecaster.ask("?", "leads", "Arlen", at="2023-03", explain=1).answers[:2]
    assert ada.reasons[0].text == (
        "Ada — leads — Arlen from Jul 2021 to Dec 2022, 3 months before (party: Blue), the latest of 2 such facts"
    )
    assert ben.reasons[0].text == "Ben — leads — Arlen from Nov 2020 to Jun 2021, 21 months before"
    assert ada.reasons[0].facts[0].date == "from Jul 2021 to Dec 2022"
    assert ada.reasons[0].facts[0].time == "2022-12"


@pytest.mark.parametrize("month", ["2020-06", "2021-01", "2021-08", "2022-12"])
def test_a_term_shows_nothing_of_the_time_of_the_question_or_later(forecaster: Forecaster, month: str):
    asked = forecaster.axis.step(month)
    later = [forecaster.axis.words(step) for step in range(asked, forecaster.axis.step("2023-01"))]
    for answer in forecaster.ask("?", "leads", "Arlen", at=month, explain=3).answers:
        for reason in answer.reasons:
            assert not any(words in reason.text for words in later), reason.text


def test_a_term_that_goes_on_is_shown_with_its_beginning_only(forecaster: Forecaster):
    (best, *_) = forecaster.ask("?", "leads", "Borsk", at="2021-05", explain=1).answers
    assert best.reasons[0].text == "Cleo — leads — Borsk since Jan 2020 (party: Red)"


def test_a_what_if_removes_the_whole_term(forecaster: Forecaster):
    result = forecaster.what_if(Question(None, "leads", "Borsk", "2023-01"), without=["Cleo | leads | Borsk | 2021-05"])
    assert [str(fact) for fact in result.without] == ["Cleo — leads — Borsk since Jan 2020 (party: Red)"]
    assert all(answer.entity != "Cleo" for answer in result.after.answers)
    partly = forecaster.what_if(Question(None, "leads", "Arlen", "2023-01"), without=["Ada | leads | Arlen | 2022-12"])
    after = {answer.entity for answer in partly.after.answers}
    assert {"Ada", "Ben"} <= after  # the first term of Ada stays


def test_events_are_shown_with_their_dates(offices: Dataset):
    events = Dataset(offices.name, offices.vocabulary, offices.axis, *offices.splits.values())
    forecaster = Forecaster(make_model("recurrency", events), events)
    (best, *_) = forecaster.ask("?", "leads", "Borsk", at="2021-05", explain=1).answers
    assert best.reasons[0].text == "Cleo — leads — Borsk in Apr 2021, 1 month before, the latest of 16 such facts"


@given(times=st.sets(st.integers(0, 30)), before=st.integers(0, 31))
def test_terms_are_the_runs_of_consecutive_steps_before_a_time(times: set[int], before: int):
    vocabulary, axis = Vocabulary.numbered(3, 2), TimeAxis(TimeUnit.INTEGER)
    facts = Facts.from_rows([(0, 0, 1, time) for time in times] + [(0, 1, 1, 15), (2, 0, 1, 16)])
    dataset = import_like(Dataset("d", vocabulary, axis, facts, Facts.empty(), Facts.empty()))
    found = ImportedRows(dataset).terms(Edge(0, 0, 1, 0), History(facts, vocabulary), before)
    steps = sorted(time for time in times if time < before)
    assert [time for first, last in found for time in range(first, last + 1)] == steps
    assert all(last + 1 not in steps and first - 1 not in steps for first, last in found)


def import_like(dataset: Dataset) -> Dataset:
    """Return a dataset that says it was imported from intervals."""
    from titer.data.readers.options import TableOptions

    mapping = TableOptions(columns={"start": "start", "end": "end"})
    return Dataset(dataset.name, dataset.vocabulary, dataset.axis, *dataset.splits.values(), mapping=mapping)
