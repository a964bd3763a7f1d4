import pytest

from titer.data.dataset import Dataset
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.wording.phrases import PHRASES
from titer.forecasting.wording.sentences import relation_words, sentence


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        (("Nigeria", "Consult", "Muhammadu Buhari"), "Nigeria consulted Muhammadu Buhari"),
        (("Helix Energy", "appoint as director", "Ines Maro"), "Helix Energy appointed Ines Maro as director"),
        (("<Zlatan>", "<playsFor>", "<Getafe_CF>"), "Zlatan played for Getafe CF"),
        (("A", "Make_an_appeal_or_request", "B"), "A made an appeal or request to B"),
        (("A", "P54", "B"), "A was a member of the sports team B"),
        # A relation without a phrase is displayed as it is written.
        (("A", "frobnicate", "B"), "A — frobnicate — B"),
        (("A", "P9999", "B"), "A — P9999 — B"),
        (("{}", "hold talks with", "{0}"), "{} held talks with {0}"),
    ],
)
def test_a_fact_becomes_a_sentence(fact: tuple[str, str, str], expected: str):
    assert sentence(*fact) == expected


def test_every_phrase_has_the_words_of_its_relation_as_its_key():
    for relation, phrase in PHRASES.items():
        assert relation_words(relation).casefold() == relation
        assert phrase.count("{}") <= 1
        assert phrase == phrase.strip()


def test_every_relation_of_the_small_world_has_a_phrase(world_data: Dataset):
    assert {relation for relation in world_data.vocabulary.relations if relation not in PHRASES} == set()


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        (TimeAxis(TimeUnit.DAY, "2018-10-01"), "on 4 Oct 2018"),
        (TimeAxis(TimeUnit.HOUR, "2018-10-01T00"), "on 1 Oct 2018, 03:00"),
        (TimeAxis(TimeUnit.WEEK, "2018-10-01"), "in the week of 22 Oct 2018"),
        (TimeAxis(TimeUnit.MONTH, "2018-10"), "in Jan 2019"),
        (TimeAxis(TimeUnit.YEAR, "2018"), "in 2021"),
        (TimeAxis(TimeUnit.INTEGER, 10, 2), "at 16"),
    ],
)
def test_a_time_in_a_sentence_has_its_preposition(axis: TimeAxis, expected: str):
    assert axis.when(3) == expected


def test_evidence_has_a_date_and_an_age(forecaster: Forecaster):
    found = forecaster.ask(None, "brief", "Army of Aldoria", at="2023-07-01", explain=2)
    reason = found.answers[0].reasons[0]
    assert str(reason.facts[0]) == "President of Aldoria briefed Army of Aldoria on 30 Jun 2023, 1 day before"
    assert str(reason).startswith(str(reason.facts[0]))
    assert found.to_dict()["answers"][0]["reasons"][0]["text"] == str(reason)
    last_week = forecaster.ask(None, "brief", "Army of Aldoria", at="2023-07-07", explain=1).answers[0].reasons[0]
    assert str(last_week.facts[0]).endswith(" on 30 Jun 2023, 7 days before")
