"""The small world is reproducible, and every planted fact has the right causes."""

import json
from dataclasses import dataclass

import pytest

from commands import titer
from titer.data.small_world import COMPANIES, COUNTRIES, LATECOMERS, SmallWorld, bank, small_world
from titer.data.summary import Summary

KINDS = {"recurring", "consequence", "chain", "latecomer", "background", "noise"}
PLANTED = {"recurring", "consequence", "chain", "latecomer"}


@dataclass(frozen=True)
class Event:
    subject: str
    relation: str
    object: str
    day: int
    kind: str
    causes: "tuple[Event, ...]"


def events(world: SmallWorld) -> list[Event]:
    entities, relations = world.dataset.vocabulary.entities, world.dataset.vocabulary.relations
    found: list[Event] = []
    for (s, r, o, t), kind, causes in zip(world.dataset.facts, world.kinds, world.causes, strict=True):
        assert all(cause < len(found) for cause in causes)
        found.append(Event(entities[s], relations[r], entities[o], t, kind, tuple(found[c] for c in causes)))
    return found


@pytest.fixture(scope="module", params=[0, 1, 7])
def history(request: pytest.FixtureRequest) -> list[Event]:
    return events(small_world(request.param))


def of_kind(history: list[Event], kind: str) -> list[Event]:
    chosen = [event for event in history if event.kind == kind]
    assert len(chosen) >= 30
    return chosen


def test_the_seed_determines_the_dataset():
    first = small_world(3)
    small_world.cache_clear()
    again = small_world(3)
    assert again is not first
    assert (again.dataset.checksum, again.kinds, again.causes) == (first.dataset.checksum, first.kinds, first.causes)
    assert small_world(4).dataset.checksum != first.dataset.checksum


def test_the_default_dataset_never_changes():
    assert small_world().dataset.checksum == "50edb06794362c07bc96de317c8b916ac1ac08bf3d987e578949e6d8711a4ca1"


def test_the_dataset_has_a_few_thousand_facts_in_chronological_splits(world: SmallWorld):
    dataset = world.dataset
    assert 2_000 <= len(dataset.facts) <= 10_000
    assert len(world.kinds) == len(world.causes) == len(dataset.facts)
    summary = Summary.of(dataset)
    assert set(summary.shared_steps.values()) == {0}
    assert set(summary.duplicates.values()) == {0}
    assert dataset.train.time.max() < dataset.valid.time.min() <= dataset.valid.time.max() < dataset.test.time.min()
    assert len(dataset.train) == pytest.approx(0.8 * len(dataset.facts), rel=0.02)


def test_every_kind_is_in_the_test_split(world: SmallWorld):
    assert set(world.kinds) == KINDS
    assert set(world.kinds[-len(world.dataset.test) :]) == KINDS


def test_planted_facts_have_strictly_earlier_causes_and_others_have_none(history: list[Event]):
    for event in history:
        assert bool(event.causes) == (event.kind in PLANTED)
        assert all(cause.day < event.day for cause in event.causes)


def test_recurring_facts_are_caused_by_the_previous_occurrence(history: list[Event]):
    latest: dict[tuple[str, str, str], Event] = {}
    recurring = of_kind(history, "recurring")
    for event in history:
        fact = (event.subject, event.relation, event.object)
        if event.kind == "recurring":
            assert event.causes == (latest[fact],)
            period = 7 if event.relation == "hold talks with" else 3
            assert (event.day - latest[fact].day) % period == 0
        latest[fact] = event
    assert {event.relation for event in recurring} == {"hold talks with", "brief"}


def test_a_consequence_answers_what_caused_it(history: list[Event]):
    answers = {"reject accusation by": "accuse", "grant licence to": "apply for licence from"}
    for event in of_kind(history, "consequence"):
        (cause,) = event.causes
        assert cause.relation == answers[event.relation]
        assert (cause.subject, cause.object) == (event.object, event.subject)
        assert event.day - cause.day in ((2, 3) if cause.relation == "accuse" else (2,))


def test_a_chain_is_caused_by_a_contract_and_an_appointment(history: list[Event]):
    for event in of_kind(history, "chain"):
        contract, appointment = event.causes
        assert event.relation == "invite"
        assert (contract.subject, contract.relation) == (event.subject, "sign contract with")
        assert contract.object == appointment.subject
        assert contract.object in COMPANIES
        assert (appointment.relation, appointment.object) == ("appoint as director", event.object)
        assert event.subject in COUNTRIES
        assert event.day == contract.day + 3


def test_the_director_is_the_one_in_office_when_the_contract_was_signed(history: list[Event]):
    appointments = [event for event in history if event.relation == "appoint as director"]
    for event in of_kind(history, "chain"):
        contract, appointment = event.causes
        until_then = [a for a in appointments if a.subject == contract.object and a.day <= contract.day]
        assert appointment == until_then[-1]


def test_a_latecomer_gets_the_licence_it_applied_for(history: list[Event]):
    for event in of_kind(history, "latecomer"):
        (cause,) = event.causes
        assert (event.relation, cause.relation) == ("grant licence to", "apply for licence from")
        assert (cause.subject, cause.object) == (event.object, event.subject)
        assert event.object in LATECOMERS
        assert event.subject in {bank(country) for country in COUNTRIES}


def test_latecomers_never_appear_before_their_arrival(history: list[Event]):
    for i, name in enumerate(LATECOMERS):
        appearances = [event for event in history if name in (event.subject, event.object)]
        first = min(event.day for event in appearances)
        assert first == 60 + 5 * i > 40
        assert all(event.day > first or event.subject == name for event in appearances)
        assert any(h.day == first and h.relation == "apply for licence from" for h in appearances)


def test_some_latecomers_are_first_seen_in_the_test_split(world: SmallWorld):
    first_test_day = int(world.dataset.test.time.min())
    late = [name for i, name in enumerate(LATECOMERS) if 60 + 5 * i >= first_test_day]
    assert late
    assert Summary.of(world.dataset).unseen.entities >= len(late)


def test_only_noise_and_background_happen_by_chance(history: list[Event]):
    assert {h.relation for h in history if h.kind == "noise"} == {"write to", "meet informally"}
    assert {h.relation for h in history if h.kind == "background"} == {
        "accuse", "sign contract with", "appoint as director", "apply for licence from", "hold talks with", "brief",
    }  # fmt: skip


def test_info_and_list_show_the_small_world(world: SmallWorld):
    shown = titer("data", "info", "small-world")
    assert shown.startswith("small-world: 2023-01-01 to 2023-06-30, time unit: day")
    found = json.loads(titer("data", "info", "small-world", "--json"))
    assert found["checksum"] == world.dataset.checksum
    assert "small-world" in titer("data", "list")
