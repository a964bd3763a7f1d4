"""Questions answered in batches."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from block_scores import PermutedScores
from forecasting.conftest import make_model
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError, TiterError, UnknownNameError
from titer.forecasting.forecast import Forecast, Unanswered
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.question import Question
from titer.forecasting.scoring import Scored, score
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.recurrency import Recurrency
from titer.models.scores import DenseScores

NAMES = ["Aldoria", "Army of Aldoria", "Quanta Labs", "Nadia Torvald", "Atlantis"]
RELATIONS = ["hold talks with", "brief", "grant licence to", "teleport to"]
TIMES = [None, "2023-01-01", "2023-01-02", "2023-03-01", "2023-07-01", "2024-01-01", "soon"]


@st.composite
def questions(draw: st.DrawFn) -> Question:
    subject = draw(st.sampled_from([None, *NAMES]))
    object = draw(st.sampled_from([None, *NAMES])) if subject is None or draw(st.integers(0, 9)) == 0 else None
    return Question(subject, draw(st.sampled_from(RELATIONS)), object, draw(st.sampled_from(TIMES)))


def alone(forecaster: Forecaster, question: Question, top: int, explain: int) -> Forecast | TiterError:
    subject, relation, object, at = question.subject, question.relation, question.object, question.at
    try:
        return forecaster.ask(subject, relation, object, at=at, top=top, explain=explain)
    except TiterError as error:
        return error


def assert_same(found: Forecast | Unanswered, expected: Forecast | TiterError) -> None:
    if isinstance(expected, TiterError):
        assert isinstance(found, Unanswered)
        assert (type(found.exception), str(found.exception)) == (type(expected), str(expected))
        return
    assert isinstance(found, Forecast)
    assert replace(found, answers=()) == replace(expected, answers=())
    # A batch sums in another order than a single question, so the last digits of a score may differ.
    assert [answer.score for answer in found.answers] == pytest.approx([a.score for a in expected.answers], rel=1e-4)
    assert [answer.rank for answer in found.answers] == [answer.rank for answer in expected.answers]


@pytest.mark.slow
@settings(max_examples=15)
@given(asked=st.lists(questions(), max_size=12), batch_size=st.integers(1, 15))
def test_batched_answers_equal_single_answers(any_forecaster: Forecaster, asked: list[Question], batch_size: int):
    found = list(any_forecaster.ask_many(asked, top=3, explain=2, batch_size=batch_size))
    assert len(found) == len(asked)
    for result, question in zip(found, asked, strict=True):
        assert_same(result, alone(any_forecaster, question, top=3, explain=2))


def test_answers_are_yielded_while_questions_are_read(forecaster: Forecaster):
    taken = 0

    def endless() -> Iterator[Question]:
        nonlocal taken
        while True:
            taken += 1
            yield Question("Aldoria", "accuse")

    results = forecaster.ask_many(endless(), batch_size=4)
    assert isinstance(next(results), Forecast)
    assert taken < 1000


def test_an_invalid_question_does_not_stop_the_others(forecaster: Forecaster):
    asked = [Question("Aldorai", "accuse"), Question("Aldoria", "accuse"), Question("Aldoria", "accuse", None, "soon")]
    wrong_name, good, wrong_date = forecaster.ask_many(asked)
    assert isinstance(wrong_name, Unanswered)
    assert isinstance(wrong_name.exception, UnknownNameError)
    assert "Aldoria" in wrong_name.to_dict()["suggestions"]
    assert isinstance(good, Forecast)
    assert isinstance(wrong_date, Unanswered)
    assert isinstance(wrong_date.exception, DataError)
    assert "Aldoria — accuse — ?, soon" in str(wrong_date)


def test_a_time_too_far_ahead_is_refused(forecaster: Forecaster):
    facts = Facts.from_rows([(0, 0, 1, 5)])
    numbered = Dataset("numbered", forecaster.history.vocabulary, TimeAxis(), facts, Facts.empty(), Facts.empty())
    with pytest.raises(DataError, match="too far ahead"):
        Forecaster(forecaster.model, numbered).ask("Aldoria", "accuse", at=1 << 40)


@pytest.mark.slow
def test_facts_at_or_after_the_question_do_not_affect_a_forecast(any_forecaster: Forecaster, world_data: Dataset):
    """Neither the answers, nor their evidence, nor whether an entity has a history."""
    for at in ("2023-01-02", "2023-02-01"):
        past = world_data.facts.before(world_data.axis.step(at))
        cut = Dataset("past", world_data.vocabulary, world_data.axis, past, Facts.empty(), Facts.empty())
        asked = [Question(name, "grant licence to", None, at) for name in ("Aldoria", "Quanta Labs", "Jorvik")]
        asked += [Question(None, "hold talks with", "Caldera", at)]
        with_all_facts = list(any_forecaster.ask_many(asked, top=20, explain=5))
        with_past_facts = list(Forecaster(any_forecaster.model, cut).ask_many(asked, top=20, explain=5))
        for found, expected in zip(with_all_facts, with_past_facts, strict=True):
            assert isinstance(found, Forecast)
            assert isinstance(expected, Forecast)
            assert found.answers == expected.answers
            assert found.no_history == expected.no_history


def test_an_entity_without_history_is_answered_by_its_relation_and_marked(
    any_forecaster: Forecaster, world_data: Dataset
):
    at, vocabulary = "2023-01-05", world_data.vocabulary
    past = world_data.facts.before(world_data.axis.step(at))
    unknown = vocabulary.entities[int((~past.mentions(vocabulary.num_entities)).argmax())]
    found = any_forecaster.ask(unknown, "hold talks with", at=at, top=1000, explain=1)
    assert found.no_history
    assert found.caution.startswith(f"{unknown} has no fact before 5 Jan 2023")
    assert found.caution in str(found)
    assert len(found.answers) > 1
    assert unknown not in [answer.entity for answer in found.answers[:1]]
    assert 0.5 < sum(answer.probability for answer in found.answers) <= 1 + 1e-6
    assert not any(reason.facts for answer in found.answers for reason in answer.reasons)
    known = any_forecaster.ask("Aldoria", "hold talks with", at=at)
    assert not known.no_history
    assert known.caution == "Aldoria has no fact with this relation before 5 Jan 2023"


@pytest.mark.parametrize("name", ["random_walk", "titer"])
def test_without_candidates_the_past_answers_of_the_relation_are_counted(world_data: Dataset, name: str):
    """Models that walk from fact to fact cannot leave an entity without facts."""
    facts = Facts.from_rows([(0, 0, 1, 5), (2, 0, 1, 6), (3, 0, 4, 6)])
    few = Dataset("few", world_data.vocabulary, world_data.axis, facts, Facts.empty(), Facts.empty())
    forecaster, names = Forecaster(make_model(name, few), few), few.vocabulary
    found = forecaster.ask(names.entities[7], names.relations[0], at=world_data.axis.label(7), explain=3)
    assert [(answer.entity, answer.probability) for answer in found.answers] == [
        (names.entities[1], pytest.approx(2 / 4)),
        (names.entities[4], pytest.approx(1 / 4)),
    ]
    assert str(found.answers[0].reasons[0]) == "the answer in 2 of 3 past facts with this relation"
    earlier = forecaster.ask(names.entities[7], names.relations[0], at=world_data.axis.label(6), explain=3)
    assert str(earlier.answers[0].reasons[0]) == "the answer in the only past fact with this relation"


def test_nan_scores_are_an_error(world_data: Dataset, monkeypatch: pytest.MonkeyPatch):
    model = make_model("recurrency", world_data)
    num_entities = world_data.vocabulary.num_entities
    nan = torch.zeros(1, num_entities)
    nan[0, num_entities // 2] = torch.nan
    monkeypatch.setattr(model, "score", lambda *_: nan)
    with pytest.raises(TiterError, match="recurrency returned NaN scores"):
        score(model, Queries.one(0, 0, 5), History(world_data.train, world_data.vocabulary))


@given(
    rows=st.lists(
        st.lists(st.sampled_from([float("-inf"), -2.5, -0.0, 0.0, 1e-30, 1.0, 7.25]), min_size=5, max_size=5)
    ),
    order=st.permutations(range(5)),
)
def test_answers_are_sorted_by_score_then_by_id(rows: list[list[float]], order: list[int]):
    values = torch.tensor(rows).view(-1, 5)
    queries = Queries(*[torch.zeros(len(rows), dtype=torch.int64)] * 3)
    none, model = values[:, 0] > torch.inf, Recurrency(Vocabulary.numbered(5, 1), TimeAxis())
    expected = torch.argsort(values, dim=1, descending=True, stable=True)
    for scores in (DenseScores(values), PermutedScores(values, order)):
        scored = Scored(queries, scores, model, values[:, 0], none, none, values[:, 0])
        for top in (1, 3, 5, 9):
            assert torch.equal(scored.best(top), expected[:, :top])
        for row, entities in enumerate(expected.tolist()):
            for place, entity in enumerate(entities, start=1):
                assert scored.rank(row, entity) == (None if rows[row][entity] == float("-inf") else place)
