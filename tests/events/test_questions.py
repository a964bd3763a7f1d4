"""Questions about events through the forecaster: what happens, whether, and when."""

import json
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from titer import Forecaster, TiterError, UnknownNameError
from titer.data.dataset import Dataset
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.events.model import EventModel
from titer.forecasting.events import forecaster as forecaster_module
from titer.forecasting.events.render import EVENT_SHARES
from titer.forecasting.events.tables import to_table, write_events
from titer.forecasting.events.windows import num_steps
from titer.forecasting.events.wording import percent
from titer.models.base import Model
from titer.store.facts import NamedFact

TALKS = ("Lumeria", "hold talks with", "Aldoria")

pytestmark = pytest.mark.slow  # an event model is trained first


@pytest.fixture(scope="session")
def forecaster(world_data: Dataset, model: Model, events: EventModel) -> Forecaster:
    made = Forecaster(model, world_data)
    made._events = events
    return made


def test_events_are_sorted_by_probability(forecaster: Forecaster):
    found = forecaster.events(within="7d", top=20)
    assert len(found.events) == 20
    assert (found.start, found.end, found.steps) == ("2023-07-01", "2023-07-07", 7)
    probabilities = [event.probability for event in found.events]
    assert probabilities == sorted(probabilities, reverse=True)
    assert [event.rank for event in found.events] == list(range(1, 21))
    assert found.expected >= sum(probabilities)


def test_events_sorted_by_lift_are_those_that_are_most_unusual(forecaster: Forecaster):
    found = forecaster.events(sort="lift", top=10).events
    lifts = [event.lift or 0 for event in found]
    assert lifts == sorted(lifts, reverse=True)
    assert all(event.lift == pytest.approx(event.probability / event.usual) for event in found)


@pytest.mark.parametrize("filters", [{"subject": "Aldoria"}, {"relation": "accuse"}, {"object": "Brenmark"}])
def test_events_match_their_filters(forecaster: Forecaster, filters: dict[str, Any]):
    found = forecaster.events(**filters, top=30)
    assert found.events
    for name, wanted in filters.items():
        assert {getattr(event, name) for event in found.events} == {wanted}


def test_events_of_an_entity_have_it_as_subject_or_object(forecaster: Forecaster):
    found = forecaster.events(entity="Aldoria", top=100).events
    assert all("Aldoria" in (event.subject, event.object) for event in found)
    assert {"Aldoria"} < {event.subject for event in found}


def test_a_listed_event_is_as_likely_when_asked_for_alone(forecaster: Forecaster):
    for event in forecaster.events(within=5, top=5).events:
        alone = forecaster.likely(event.subject, event.relation, event.object, within=5).event
        assert alone.probability == pytest.approx(event.probability, abs=1e-5)
        assert alone.expected == pytest.approx(event.expected, abs=1e-5)
        assert (alone.times, alone.kind, alone.last) == (event.times, event.kind, event.last)


def test_the_expected_number_is_that_of_the_kind(forecaster: Forecaster):
    every, repeats, new, ends = (
        forecaster.events(within=7, top=1, kind=kind).expected for kind in (None, "repeats", "new", "ends")
    )
    assert repeats + new == pytest.approx(every, rel=1e-4)
    assert 0 < new < repeats
    assert ends == 0


def test_an_empty_list_says_why(forecaster: Forecaster):
    def words(**wanted: Any) -> str:
        return str(forecaster.events(**wanted)).splitlines()[-1]

    assert words(kind="ends") == "No event: no lasting fact holds just before the window."
    assert words(kind="begins") == "No event: no relation is lasting."
    rare = {"subject": "Aldoria", "relation": "accuse", "object": "Brenmark", "start": "2023-02-01"}
    nothing = "nothing that occurred before has a probability of 2% or more."
    assert words(**rare, sort="lift") == f"No event: except for lasting facts that continue, {nothing}"
    assert words(**rare, sort="lift", kind="repeats") == f"No event: {nothing}"
    assert words(start="2023-01-01") == "No event: no earlier fact supports one."


@pytest.mark.parametrize(
    ("filters", "title"),
    [
        ({}, "all events"),
        ({"subject": "Aldoria"}, "Aldoria — ? — ?"),
        ({"object": "Aldoria"}, "? — ? — Aldoria"),
        ({"entity": "Aldoria"}, "Aldoria"),
        ({"entity": "Aldoria", "relation": "accuse"}, "Aldoria, ? — accuse — ?"),
    ],
)
def test_a_list_names_its_filters(forecaster: Forecaster, filters: dict[str, Any], title: str):
    assert str(forecaster.events(**filters, top=1)).splitlines()[0] == f"{title}, 1 Jul 2023"


@pytest.mark.parametrize(
    ("probability", "words"),
    [(0.0, "<0.1%"), (0.0004, "<0.1%"), (0.0005, "0.1%"), (0.5, "50.0%"), (0.9994, "99.9%"), (0.99996, ">99.9%")],
)
def test_nothing_uncertain_looks_certain(probability: float, words: str):
    assert percent(probability) == words


def test_new_facts_have_no_usual_rate(forecaster: Forecaster):
    found = forecaster.events(kind="new", top=5).events
    assert found
    for event in found:
        assert (event.kind, event.lift, event.times, event.last, event.rate) == ("new", None, 0, None, "never before")
        assert 0 < event.probability < 1
        alone = forecaster.likely(event.subject, event.relation, event.object)
        assert alone.probability == pytest.approx(event.probability, abs=1e-5)


def test_a_list_has_the_expected_count_of_each_event_in_a_longer_window(forecaster: Forecaster):
    week, day = forecaster.events(within=7, top=3), forecaster.events(top=3)
    for event, line in zip(week.events, str(week).splitlines()[3:], strict=True):
        assert line.endswith(f"; expected {event.expected:.2f} times")
        assert f"<td>{event.expected:.2f}</td>" in week._repr_html_()
    assert "expected" not in str(day).splitlines()[3]


def test_any_three_names_have_a_probability(forecaster: Forecaster):
    found = forecaster.likely("Quanta Labs", "brief", "Aldoria", within=30)
    assert 0 <= found.probability < 0.5
    assert "usual rate" not in str(found)
    assert "usual rate" in str(forecaster.likely(*TALKS))


def test_a_quantile_after_the_last_step_is_said_to_be_after_it(forecaster: Forecaster):
    found = forecaster.when(*TALKS)
    last = found.curve[-1].date
    late = replace(found, quantiles=(replace(found.quantiles[0], date=None), *found.quantiles[1:]))
    lines = [line.strip() for line in str(late).splitlines()]
    assert f"{found.quantiles[0].level:.0%} after {last}" in lines
    assert any(line.endswith("that it happens again in the 30 days from 1 Jul 2023 to 30 Jul 2023") for line in lines)
    assert f"{found.quantiles[1].level:.0%} by {found.quantiles[1].date}" in lines


def test_the_curve_of_when_is_a_distribution(forecaster: Forecaster):
    found = forecaster.when(*TALKS)
    assert len(found.curve) == found.steps == 30
    total = 0.0
    for ahead, step in enumerate(found.curve, start=1):
        total += step.first
        assert step.ahead == ahead
        assert 0 <= step.first <= step.probability + 1e-6
        assert step.by == pytest.approx(total)
        assert step.survival == pytest.approx(1 - total)
    for quantile in found.quantiles:
        reached = [step for step in found.curve if step.by >= quantile.level]
        assert quantile.time == (reached[0].time if reached else None)
    within = forecaster.likely(*TALKS, within=7).probability
    assert found.curve[6].by == pytest.approx(within, abs=1e-5)
    assert found.curve[6].usual == pytest.approx(forecaster.likely(*TALKS, within=7).event.usual)


def test_a_question_about_the_past_uses_only_earlier_facts(forecaster: Forecaster, world_data: Dataset):
    found = forecaster.events(start="2023-05-01", top=200)
    assert found.start == "2023-05-01"
    for event in found.events:
        if event.last is not None:
            assert event.last.time < "2023-05-01"
        vocabulary = world_data.vocabulary
        facts = world_data.facts
        mask = (
            (facts.subject == vocabulary.entity_ids[event.subject])
            & (facts.relation == vocabulary.relation_ids[event.relation])
            & (facts.object == vocabulary.entity_ids[event.object])
            & (facts.time < world_data.axis.step("2023-05-01"))
        )
        assert event.times == int(mask.sum())


def test_a_window_that_begins_later_is_forecast_from_the_last_known_fact(forecaster: Forecaster):
    found = forecaster.events(start="2023-07-10", within=2, top=5)
    assert (found.start, found.end) == ("2023-07-10", "2023-07-11")
    assert all(0 <= event.probability <= 1 for event in found.events)


def test_evidence_names_facts_before_the_window(forecaster: Forecaster):
    event = forecaster.likely(*TALKS, within=7, explain=3).event
    assert event.causes
    assert sum(reason.share for reason in event.causes) <= 1 + 1e-6
    assert all(fact.time < "2023-07-01" for reason in (*event.causes, *event.reasons) for fact in reason.facts)


def test_the_ages_of_facts_are_counted_from_the_first_step_of_the_window(forecaster: Forecaster):
    event = forecaster.likely(*TALKS, start="2023-07-10", explain=3).event
    facts = [fact for reason in (*event.causes, *event.reasons) for fact in reason.facts]
    (first,) = {forecaster.axis.step(fact.time) + fact.age for fact in facts}
    assert event.last is not None
    assert first == forecaster.axis.step("2023-07-10") == forecaster.axis.step(event.last.time) + event.last.age
    assert event.causes
    assert event.reasons


def test_errors_say_what_to_do(forecaster: Forecaster):
    with pytest.raises(UnknownNameError):
        forecaster.events(subject="Aldorra")
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"sort": "best"}, "unknown sort 'best'; choose from probability, lift"),
        ({"kind": "odd"}, "unknown kind 'odd'; choose from"),
        ({"within": "2 fortnights"}, "unknown unit"),
        ({"within": 31}, "1 to 30 time steps, not 31"),
        ({"within": "soon"}, "such as 7d"),
        ({"top": 0}, "top must be at least 1"),
        ({"entity": "Aldoria", "subject": "Brenmark"}, "not both"),
    )
    for arguments, message in cases:
        with pytest.raises(TiterError, match=message):
            forecaster.events(**arguments)


@pytest.mark.parametrize(
    ("text", "unit", "steps"),
    [(3, "day", 3), ("7d", "day", 7), ("2 weeks", "day", 14), ("1 month", "day", 30), ("1y", "month", 12),
     ("3 years", "year", 3), ("5", "integer", 5), ("4 steps", "integer", 4), ("24h", "hour", 24)],
)  # fmt: skip
def test_lengths_of_windows_are_counted_in_steps(text: str | int, unit: str, steps: int):
    origin = 0 if unit == "integer" else "2023-01-01"
    assert num_steps(text, TimeAxis(TimeUnit(unit), origin)) == steps


def test_a_duration_in_a_dataset_of_numbers_is_answered_with_what_to_give():
    with pytest.raises(TiterError, match="'7d': this dataset counts time in numbers; give a number of time steps"):
        num_steps("7d", TimeAxis(TimeUnit.INTEGER, 0))


def test_evidence_says_what_its_shares_divide(forecaster: Forecaster):
    explained = (
        forecaster.events(top=3, explain=1),
        forecaster.likely(*TALKS, explain=1),
        forecaster.when(*TALKS, explain=1),
    )
    plain = forecaster.events(top=3), forecaster.likely(*TALKS), forecaster.when(*TALKS)
    for result in explained:
        assert str(result).endswith(EVENT_SHARES)
        assert EVENT_SHARES in unescape(result._repr_html_())
        assert "because:</p>" in result._repr_html_()
    for result in plain:
        assert EVENT_SHARES not in str(result)
        assert EVENT_SHARES not in unescape(result._repr_html_())


def test_results_are_plain_values_text_html_and_tables(forecaster: Forecaster):
    results = forecaster.events(top=3, explain=1), forecaster.likely(*TALKS), forecaster.when(*TALKS)
    for result, html in zip(results, ("<table", "that it happens again;", "<table"), strict=True):
        assert json.loads(json.dumps(result.to_dict(), allow_nan=False)) == result.to_dict()
        assert "hold talks" in str(result)
        assert html in result._repr_html_()
        assert len(repr(result)) < 200
    assert "events=3" in repr(results[0])
    assert [result.to_table().num_rows for result in results] == [3, 1, 30]
    assert list(results[2].to_pandas()["ahead"]) == list(range(1, 31))


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_results_are_written_to_files(forecaster: Forecaster, tmp_path: Path, suffix: str):
    found = forecaster.events(top=4, explain=1)
    write_events([found], tmp_path / f"events{suffix}")
    assert (tmp_path / f"events{suffix}").stat().st_size > 100
    assert to_table([found]).column("probability").to_pylist() == [event.probability for event in found.events]


def test_a_likelihood_is_kept_until_a_fact_is_added(
    world_data: Dataset, model: Model, events: EventModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(forecaster_module, "MAX_KEPT", 2)
    forecaster = Forecaster(model, world_data, tmp_path / "facts.db")
    forecaster._events = events
    first = forecaster.likely(*TALKS, 7, start="2023-07-02", explain=1)
    assert forecaster.likely(*TALKS, 7, start="2023-07-02", explain=1) is first
    assert forecaster.likely(*TALKS, 7, start="2023-07-02").event.causes == ()
    assert forecaster.likely(*TALKS, 6, start="2023-07-02").event.probability < first.event.probability
    again = forecaster.likely(*TALKS, 7, start="2023-07-02", explain=1)  # no longer kept
    assert again is not first
    assert again == first
    with forecaster:
        forecaster.fact_store.add([NamedFact(*TALKS, forecaster.axis.step("2023-07-01"))])
        changed = forecaster.likely(*TALKS, 7, start="2023-07-02", explain=1)
    assert changed.event.times == first.event.times + 1
