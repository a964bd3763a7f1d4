"""The small world: the same every time, and every planted fact has the causes that it should have."""

import json
from dataclasses import dataclass

import pytest
from typer.testing import CliRunner

from titer.cli.main import app
from titer.data.small_world import COMPANIES, COUNTRIES, LATECOMERS, SmallWorld, bank, small_world
from titer.data.summary import Summary

KINDS = {"recurring", "consequence", "chain", "latecomer", "background", "noise"}
PLANTED = {"recurring", "consequence", "chain", "latecomer"}


@dataclass(frozen=True)
class Happening:
    subject: str
    relation: str
    object: str
    day: int
    kind: str
    causes: "tuple[Happening, ...]"


def happenings(world: SmallWorld) -> list[Happening]:
    entities, relations = world.dataset.vocabulary.entities, world.dataset.vocabulary.relations
    found: list[Happening] = []
    for (s, r, o, t), kind, causes in zip(world.dataset.facts, world.kinds, world.causes, strict=True):
        assert all(cause < len(found) for cause in causes)
        found.append(Happening(entities[s], relations[r], entities[o], t, kind, tuple(found[c] for c in causes)))
    return found


@pytest.fixture(scope="module", params=[0, 1, 7])
def history(request: pytest.FixtureRequest) -> list[Happening]:
    return happenings(small_world(request.param))


def of_kind(history: list[Happening], kind: str) -> list[Happening]:
    chosen = [happening for happening in history if happening.kind == kind]
    assert len(chosen) >= 30
    return chosen


def test_the_world_is_the_same_for_the_same_seed_and_another_for_another():
    first = small_world(3)
    small_world.cache_clear()
    again = small_world(3)
    assert again is not first
    assert (again.dataset.checksum, again.kinds, again.causes) == (first.dataset.checksum, first.kinds, first.causes)
    assert small_world(4).dataset.checksum != first.dataset.checksum


def test_the_world_that_ships_never_changes():
    assert small_world().dataset.checksum == "50edb06794362c07bc96de317c8b916ac1ac08bf3d987e578949e6d8711a4ca1"


def test_the_world_is_a_few_thousand_facts_in_chronological_splits(world: SmallWorld):
    dataset = world.dataset
    assert 2_000 <= len(dataset.facts) <= 10_000
    assert len(world.kinds) == len(world.causes) == len(dataset.facts)
    summary = Summary.of(dataset)
    assert set(summary.shared_steps.values()) == {0}
    assert set(summary.duplicates.values()) == {0}
    assert dataset.train.time.max() < dataset.valid.time.min() <= dataset.valid.time.max() < dataset.test.time.min()
    assert len(dataset.train) == pytest.approx(0.8 * len(dataset.facts), rel=0.02)


def test_every_kind_is_there_also_to_be_tested_on(world: SmallWorld):
    assert set(world.kinds) == KINDS
    assert set(world.kinds[-len(world.dataset.test) :]) == KINDS


def test_planted_facts_have_strictly_earlier_causes_and_others_have_none(history: list[Happening]):
    for happening in history:
        assert bool(happening.causes) == (happening.kind in PLANTED)
        assert all(cause.day < happening.day for cause in happening.causes)


def test_what_recurs_is_caused_by_the_time_before(history: list[Happening]):
    latest: dict[tuple[str, str, str], Happening] = {}
    recurring = of_kind(history, "recurring")
    for happening in history:
        fact = (happening.subject, happening.relation, happening.object)
        if happening.kind == "recurring":
            assert happening.causes == (latest[fact],)
            period = 7 if happening.relation == "hold talks with" else 3
            assert (happening.day - latest[fact].day) % period == 0
        latest[fact] = happening
    assert {happening.relation for happening in recurring} == {"hold talks with", "brief"}


def test_a_consequence_answers_what_caused_it(history: list[Happening]):
    answers = {"reject accusation by": "accuse", "grant licence to": "apply for licence from"}
    for happening in of_kind(history, "consequence"):
        (cause,) = happening.causes
        assert cause.relation == answers[happening.relation]
        assert (cause.subject, cause.object) == (happening.object, happening.subject)
        assert happening.day - cause.day in ((2, 3) if cause.relation == "accuse" else (2,))


def test_a_chain_leads_over_a_company_to_its_director(history: list[Happening]):
    for happening in of_kind(history, "chain"):
        contract, appointment = happening.causes
        assert happening.relation == "invite"
        assert (contract.subject, contract.relation) == (happening.subject, "sign contract with")
        assert contract.object == appointment.subject
        assert contract.object in COMPANIES
        assert (appointment.relation, appointment.object) == ("appoint as director", happening.object)
        assert happening.subject in COUNTRIES
        assert happening.day == contract.day + 3


def test_the_director_is_the_one_in_office_when_the_contract_was_signed(history: list[Happening]):
    appointments = [happening for happening in history if happening.relation == "appoint as director"]
    for happening in of_kind(history, "chain"):
        contract, appointment = happening.causes
        until_then = [a for a in appointments if a.subject == contract.object and a.day <= contract.day]
        assert appointment == until_then[-1]


def test_a_latecomer_gets_the_licence_it_applied_for(history: list[Happening]):
    for happening in of_kind(history, "latecomer"):
        (cause,) = happening.causes
        assert (happening.relation, cause.relation) == ("grant licence to", "apply for licence from")
        assert (cause.subject, cause.object) == (happening.object, happening.subject)
        assert happening.object in LATECOMERS
        assert happening.subject in {bank(country) for country in COUNTRIES}


def test_latecomers_never_appear_before_their_arrival(history: list[Happening]):
    for i, name in enumerate(LATECOMERS):
        appearances = [happening for happening in history if name in (happening.subject, happening.object)]
        first = min(happening.day for happening in appearances)
        assert first == 60 + 5 * i > 40
        assert all(happening.day > first or happening.subject == name for happening in appearances)
        assert any(h.day == first and h.relation == "apply for licence from" for h in appearances)


def test_some_latecomers_are_first_seen_in_the_test_split(world: SmallWorld):
    first_test_day = int(world.dataset.test.time.min())
    late = [name for i, name in enumerate(LATECOMERS) if 60 + 5 * i >= first_test_day]
    assert late
    assert Summary.of(world.dataset).unseen.entities >= len(late)


def test_only_noise_and_background_happen_by_chance(history: list[Happening]):
    assert {h.relation for h in history if h.kind == "noise"} == {"write to", "meet informally"}
    assert {h.relation for h in history if h.kind == "background"} == {
        "accuse", "sign contract with", "appoint as director", "apply for licence from", "hold talks with", "brief",
    }  # fmt: skip


def test_info_and_list_know_the_small_world(world: SmallWorld):
    runner = CliRunner()
    shown = runner.invoke(app, ["data", "info", "small-world"], catch_exceptions=False).stdout
    assert shown.startswith("small-world: 2023-01-01 to 2023-06-30, time unit: day")
    found = json.loads(runner.invoke(app, ["data", "info", "small-world", "--json"], catch_exceptions=False).stdout)
    assert found["checksum"] == world.dataset.checksum
    assert "small-world" in runner.invoke(app, ["data", "list"], catch_exceptions=False).stdout
