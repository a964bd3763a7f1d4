"""Questions asked of a changed history."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forecasting.conftest import make_model
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.errors import TiterError, UnknownFactError, UnknownNameError
from titer.forecasting.fact_input import FactInput
from titer.forecasting.forecast import Forecast
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.question import Question
from titer.models.path_mixture import prior, scores

ASKED = Question("Caldera", "hold talks with", None, "2023-07-01")
KNOWN = "Caldera | hold talks with | Drovia | 2023-06-28"


def on_facts(forecaster: Forecaster, dataset: Dataset, facts: Facts) -> Forecaster:
    """Return a forecaster that knows only the given facts."""
    changed = Dataset("changed", dataset.vocabulary, dataset.axis, facts, Facts.empty(), Facts.empty())
    return Forecaster(forecaster.model, changed)


def ranking(forecast: Forecast) -> list[tuple[str, object]]:
    return [(answer.entity, pytest.approx(answer.score, rel=1e-4, abs=1e-6)) for answer in forecast.answers]


@pytest.mark.slow
@settings(max_examples=15)
@given(data=st.data(), day=st.integers(20, 200))
def test_a_changed_history_equals_a_history_built_from_the_changed_facts(
    any_forecaster: Forecaster, world_data: Dataset, data: st.DataObject, day: int
):
    """For any facts and any time of the question, within the data or after it."""
    names, axis = world_data.vocabulary, world_data.axis
    past = [i for i, time in enumerate(world_data.facts.time.tolist()) if time < day]
    taken = data.draw(st.lists(st.sampled_from(past[-300:]), max_size=4, unique=True))
    entity = st.integers(0, names.num_entities - 1)
    relation = st.integers(0, names.num_relations - 1)
    put = data.draw(st.lists(st.tuples(entity, relation, entity, st.integers(0, day - 1)), max_size=4))
    known = set(world_data.facts)
    put = [fact for fact in dict.fromkeys(put) if fact not in known]

    def in_words(fact: tuple[int, int, int, int]) -> tuple[str, str, str, str]:
        s, r, o, t = fact
        return names.entities[s], names.relations[r], names.entities[o], axis.label(t)

    out = {list(world_data.facts)[i] for i in taken}
    question = Question(names.entities[data.draw(entity)], "hold talks with", None, axis.label(day))
    found = any_forecaster.what_if(
        question, without=[in_words(fact) for fact in out], with_=[in_words(fact) for fact in put], top=8
    )
    rows = [fact for fact in world_data.facts if fact not in out] + put
    expected = on_facts(any_forecaster, world_data, Facts.from_rows(rows)).ask(
        question.subject, question.relation, at=question.at, top=8
    )
    assert [(answer.entity, answer.score) for answer in found.after.answers] == ranking(expected)
    assert found.before == any_forecaster.ask(question.subject, question.relation, at=question.at, top=8)


def test_a_what_if_with_scores_in_many_blocks_has_the_same_moves(world_data: Dataset, monkeypatch: pytest.MonkeyPatch):
    expected = Forecaster(make_model("path_mixture", world_data), world_data).what_if(ASKED, without=[KNOWN])
    monkeypatch.setattr(prior, "MAX_WHOLE", 0)
    monkeypatch.setattr(scores, "MAX_SCORES", 10)
    found = Forecaster(make_model("path_mixture", world_data), world_data).what_if(ASKED, without=[KNOWN])
    ranks, wanted = ([(m.entity, m.rank_before, m.rank_after) for m in each.moves] for each in (found, expected))
    assert ranks == wanted
    probabilities = [move.probability_after for move in expected.moves]
    assert [move.probability_after for move in found.moves] == pytest.approx(probabilities, rel=1e-4)


def test_facts_at_or_after_the_question_do_not_affect_a_what_if(any_forecaster: Forecaster, world_data: Dataset):
    question = Question("Caldera", "hold talks with", None, "2023-03-01")
    past = world_data.facts.before(world_data.axis.step("2023-03-01"))
    reason = any_forecaster.ask("Caldera", "hold talks with", at="2023-03-01", explain=100).answers[0].reasons
    fact = next(item.facts[0] for item in reason if item.facts)
    put = ("Aldoria", "hold talks with", "Newland", "2023-02-27")
    cut = on_facts(any_forecaster, world_data, past)
    with_all_facts, with_past_facts = (
        one.what_if(question, without=[fact], with_=[put], explain=3) for one in (any_forecaster, cut)
    )
    assert with_all_facts.moves == with_past_facts.moves
    assert with_all_facts.after.answers == with_past_facts.after.answers


def test_moves_cover_the_best_answers_before_and_after(forecaster: Forecaster):
    put = ("Caldera", "hold talks with", "Newland", "2023-06-30")
    found = forecaster.what_if(ASKED, without=[KNOWN], with_=[put], top=3)
    moves = {move.entity: move for move in found.moves}
    assert set(moves) == {answer.entity for side in (found.before, found.after) for answer in side.answers}
    for answer in found.before.answers:
        move = moves[answer.entity]
        assert (move.rank_before, move.probability_before) == (answer.rank, answer.probability)
    for answer in found.after.answers:
        move = moves[answer.entity]
        assert (move.rank_after, move.probability_after) == (answer.rank, answer.probability)
    assert moves["Drovia"].probability_after < moves["Drovia"].probability_before
    assert (moves["Newland"].rank_before, moves["Newland"].probability_before) == (None, 0)
    assert found.new_entities == ("Newland",)
    text = str(found)
    assert "without: Caldera held talks with Drovia on 28 Jun 2023, 3 days before" in text
    assert "with:    Caldera held talks with Newland on 30 Jun 2023, 1 day before" in text
    assert "new entities: Newland" in text
    assert json.loads(json.dumps(found.to_dict()))["moves"][0]["rank_after"] == 1


def test_ask_accepts_the_same_changes(forecaster: Forecaster):
    found = forecaster.ask("Caldera", "hold talks with", at="2023-07-01", without=[KNOWN])
    assert found == forecaster.what_if(ASKED, without=[KNOWN]).after
    assert found != forecaster.ask("Caldera", "hold talks with", at="2023-07-01")
    assert forecaster.ask("Caldera", "hold talks with", at="2023-07-01") == forecaster.what_if(ASKED).before


def test_facts_of_the_evidence_can_be_left_out(any_forecaster: Forecaster):
    answer = any_forecaster.ask("Caldera", "hold talks with", at="2023-07-01", top=1, explain=50).answers[0]
    facts = list(dict.fromkeys(fact for reason in answer.reasons for fact in reason.facts))
    if not facts:
        pytest.skip("an untrained model may have no path as evidence")
    found = any_forecaster.what_if(ASKED, without=facts, top=1)
    assert [fact.line for fact in found.without] == [fact.line for fact in facts]
    again = any_forecaster.ask("Caldera", "hold talks with", at="2023-07-01", without=facts, explain=1000)
    shown = {fact.line for answer in again.answers for reason in answer.reasons for fact in reason.facts}
    assert not shown & {fact.line for fact in facts}


@pytest.mark.parametrize("name", ["recurrency", "random_walk", "titer", "path_mixture"])
def test_questions_can_be_about_an_added_entity(world_data: Dataset, name: str):
    forecaster = Forecaster(make_model(name, world_data), world_data)
    question = Question("newland", "hold talks with", None, "2023-07-01")
    put = ["Newland | hold talks with | Drovia | 2023-06-30", "NEWLAND | accuse | Newest land | 2023-06-29"]
    found = forecaster.what_if(question, with_=put, explain=2, top=100)
    assert found.new_entities == ("Newland", "Newest land")
    assert found.before.no_history
    assert not found.after.no_history
    assert found.after.subject == "Newland"
    assert "Drovia" in [answer.entity for answer in found.after.answers]


def test_an_unknown_fact_gets_suggestions_that_are_accepted(forecaster: Forecaster):
    with pytest.raises(UnknownFactError, match="there is no fact") as error:
        forecaster.what_if(ASKED, without=["caldera | hold talks | Drovia | 2023-06-27"])
    assert error.value.suggestions[0] == KNOWN
    for suggestion in error.value.suggestions:
        assert suggestion in str(error.value)
        forecaster.what_if(ASKED, without=[suggestion])
    earlier = Question("Caldera", "hold talks with", None, "2023-06-20")
    with pytest.raises(UnknownFactError) as error:
        forecaster.what_if(earlier, without=["Caldera | hold talks with | Drovia | 2023-06-27"])
    assert KNOWN not in error.value.suggestions  # it is not before the question
    with pytest.raises(UnknownNameError, match="Caldera"):
        forecaster.what_if(ASKED, without=["Caldora | hold talks with | Drovia | 2023-06-28"])


def test_changes_without_effect_are_refused(forecaster: Forecaster):
    early = Question("Caldera", "hold talks with", None, "2023-06-28")
    with pytest.raises(TiterError, match="only facts before the question's time, 28 Jun 2023"):
        forecaster.what_if(early, without=[KNOWN])
    with pytest.raises(TiterError, match="only facts before the question's time, 28 Jun 2023"):
        forecaster.what_if(early, with_=["Caldera | accuse | Drovia | 2023-06-28"])
    with pytest.raises(TiterError, match="already known"):
        forecaster.what_if(ASKED, with_=[KNOWN])
    # A fact that is left out may be added again.
    assert not any(move.moved for move in forecaster.what_if(ASKED, without=[KNOWN], with_=[KNOWN]).moves)
    with pytest.raises(UnknownNameError, match="relation"):
        forecaster.what_if(ASKED, with_=["Caldera | teleport to | Drovia | 2023-06-28"])


def test_all_such_facts_can_be_left_out_at_once(forecaster: Forecaster, world_data: Dataset):
    names, axis = world_data.vocabulary, world_data.axis
    subject, relation, object = (
        names.entity_ids["Caldera"],
        names.relation_ids["hold talks with"],
        names.entity_ids["Drovia"],
    )
    such = [fact for fact in world_data.facts if fact[:3] == (subject, relation, object)]
    assert len(such) > 2
    each = [("Caldera", "hold talks with", "Drovia", axis.label(time)) for *_, time in such]
    together = forecaster.what_if(ASKED, without=["caldera | hold talks | Drovia"])
    assert together.moves == forecaster.what_if(ASKED, without=each).moves
    assert together == forecaster.what_if(ASKED, without=[("Caldera", "hold talks with", "Drovia")])
    (described,) = together.without
    assert described.sentence.startswith(f"all {len(such)} such facts, the latest of which: Caldera held talks with")
    assert described.line == KNOWN
    # Only facts before the question are meant.
    early = Question("Caldera", "hold talks with", None, axis.label(such[1][3]))
    assert len(forecaster.what_if(early, without=["Caldera | hold talks with | Drovia"]).without) == 1
    first = Question("Caldera", "hold talks with", None, axis.label(such[0][3]))
    with pytest.raises(UnknownFactError, match=r"there is no fact Caldera \| hold talks with \| Drovia before"):
        forecaster.what_if(first, without=["Caldera | hold talks with | Drovia"])


def test_a_fact_to_add_needs_a_date(forecaster: Forecaster):
    with pytest.raises(TiterError, match="a fact to add needs a date"):
        forecaster.what_if(ASKED, with_=["Caldera | accuse | Drovia"])


def test_the_known_history_does_not_change(forecaster: Forecaster):
    before, edges = forecaster.ask("Caldera", "hold talks with"), forecaster.history.num_edges
    forecaster.what_if(ASKED, without=[KNOWN], with_=["Caldera | accuse | Newland | 2022-12-01"])
    assert forecaster.history.num_edges == edges
    assert forecaster.ask("Caldera", "hold talks with") == before


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a | r, s | b | 2020-01-01", ("a", "r, s", "b", "2020-01-01")),
        ("a,r,b,2020-01-01", ("a", "r", "b", "2020-01-01")),
        ('"a | c", r, "b, d", 7', ("a | c", "r", "b, d", "7")),
    ],
)
def test_facts_can_be_written_with_bars_or_as_csv(text: str, parts: tuple[str, str, str, str]):
    fact = FactInput.of(text)
    assert (fact.subject, fact.relation, fact.object, fact.time) == parts


@pytest.mark.parametrize(
    "text", ["", "a | r", "a | r | ?", "a | r | ? | 2020-01-01", "a | | b | 2020", "a|b|c|d|e", "a\0,b"]
)
def test_an_incomplete_fact_is_refused(text: str):
    with pytest.raises(TiterError, match="SUBJECT"):
        FactInput.of(text)
