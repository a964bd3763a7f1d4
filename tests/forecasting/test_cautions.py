"""What makes answers less reliable is said with them, and what a probability means."""

import pytest

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.question import Question
from titer.models.recurrency import Recurrency

# Anna visits Bern, Bern is visited by Anna; Carl never visits. Relation 1 begins at the end of the data.
ROWS = [(0, 0, 1, time) for time in range(0, 100, 10)] + [(2, 1, 1, 100)]
DATA = Dataset(
    "visits",
    Vocabulary(["Anna", "Bern", "Carl", "Dora"], ["visit", "leave"]),
    TimeAxis(),
    Facts.from_rows(ROWS),
    Facts.empty(),
    Facts.empty(),
)


@pytest.fixture(scope="module")
def asked() -> Forecaster:
    return Forecaster(Recurrency(DATA.vocabulary, DATA.axis), DATA)


def test_an_ordinary_question_has_no_caution(asked: Forecaster):
    assert asked.ask("Anna", "visit").caution == ""
    assert asked.ask("?", "visit", "Bern", at=55).caution == ""


def test_an_entity_without_facts_is_named(asked: Forecaster):
    assert asked.ask("Dora", "visit").caution == (
        "Dora has no fact before 101, so no fact about it supports these answers"
    )


def test_a_pair_that_never_occurred_is_named_in_the_direction_of_the_question(asked: Forecaster):
    assert asked.ask("Carl", "visit").caution == "Carl has no fact with this relation before 101"
    assert asked.ask("Bern", "visit").caution == "Bern has no fact with this relation before 101"
    assert asked.ask("?", "leave", "Bern").caution == ""
    assert asked.ask("?", "leave", "Anna").caution == "Anna has no fact with this relation before 101"


def test_a_relation_that_never_occurred_before_the_question_is_named(asked: Forecaster):
    assert asked.ask("Anna", "leave", at=100).caution == "no fact before 100 has the relation leave"
    assert asked.ask("Anna", "leave", at=101).caution == "Anna has no fact with this relation before 101"


def test_a_time_far_after_the_data_is_named(asked: Forecaster):
    assert asked.ask("Anna", "visit", at=110).caution == ""
    assert asked.ask("Anna", "visit", at=111).caution == (
        "11 steps ahead is far after the data; probabilities were calibrated for 1 step ahead"
    )
    assert "; 400 steps ahead" in asked.ask("Carl", "visit", at=500).caution


def test_questions_of_a_batch_have_the_cautions_of_single_questions(asked: Forecaster):
    questions = [Question(name, relation, None, time) for name in ("Anna", "Bern", "Carl", "Dora")
                 for relation in ("visit", "leave") for time in (50, 100, 101, 300)]  # fmt: skip
    for question, found in zip(questions, asked.ask_many(questions), strict=True):
        assert found == asked.ask(question.subject, question.relation, at=question.at)


def test_what_a_probability_means_is_said_with_it(asked: Forecaster):
    found = asked.ask("Anna", "visit")
    assert found.meaning == (
        "Probabilities: if Anna — visit — ? happens at 101, how likely each answer is; not whether it happens."
    )
    assert found.meaning in str(found)
    assert found.meaning in found._repr_html_()
    assert "if ? — visit — Bern happens" in asked.ask("?", "visit", "Bern").meaning
    assert found.to_dict()["meaning"] == found.meaning
