"""How forecasts turned out lately: sums of what was forecast and of what happened."""

import math
from collections import defaultdict

import pytest
import torch

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.events.index import EventIndex
from titer.events.model import EventModel
from titer.events.recent import HORIZON, NUM_STEPS, PAIR_PRIOR, RELATION_PRIOR, Corrections, Outcomes, RecentErrors
from titer.events.triples import Triples
from titer.graph.history import History
from titer.models.base import Model


def index_of(data: Dataset, facts: Facts) -> EventIndex:
    return EventIndex(History(facts, data.vocabulary), data.axis)


def corrections(events: EventModel, index: EventIndex, elapsed: int) -> Corrections:
    return RecentErrors(index).before(events.intensity_networks, events.trees, elapsed)


def test_corrections_are_events_per_forecast_event(world_data: Dataset):
    index, generator = index_of(world_data, world_data.facts), torch.Generator().manual_seed(0)
    outcomes = list[tuple[int, Outcomes]]()
    sums: dict[tuple[object, ...], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for age in (2, 1, 0):
        rows = torch.randperm(len(index.triples), generator=generator)[:40]
        triples, probability = index.triples[rows], torch.rand(40, generator=generator)
        happened = torch.rand(40, generator=generator) < 0.5
        outcomes.append((age, Outcomes(triples, probability, happened)))
        for row in range(40):
            s, r, o = (int(column[row]) for column in (triples.subject, triples.relation, triples.object))
            for key in (("relation", r), ("pair", s, o)):
                for place, value in enumerate((float(probability[row]), float(happened[row]))):
                    sums[key][place] += value * math.exp(-age / HORIZON)
    asked = index.triples[:200]
    found = Corrections(index, outcomes).of(asked)
    for row, (s, r, o) in enumerate(
        zip(asked.subject.tolist(), asked.relation.tolist(), asked.object.tolist(), strict=True)
    ):
        for column, (key, prior) in enumerate(((("relation", r), RELATION_PRIOR), (("pair", s, o), PAIR_PRIOR))):
            forecast, happened_sum = sums[key]
            expected = math.log((happened_sum + prior) / (forecast + prior))
            assert float(found[row, column]) == pytest.approx(expected, abs=1e-5)
    assert len({round(value, 4) for value in found[:, 1].tolist()}) > 3


def test_facts_at_or_after_a_time_do_not_count(events: EventModel, world_data: Dataset):
    facts, time = world_data.facts, 150
    elapsed = time - int(facts.time.min())
    indexes = [index_of(world_data, known) for known in (facts, facts.before(time))]
    asked = indexes[1].triples
    found = [corrections(events, index, elapsed).of(asked) for index in indexes]
    assert torch.allclose(found[0], found[1], atol=1e-5)
    assert float(found[0].abs().max()) > 0.1
    # Those of the step before do count.
    fewer = corrections(events, index_of(world_data, facts.before(time - 1)), elapsed).of(asked)
    assert not torch.allclose(found[0], fewer, atol=1e-3)


def test_where_the_data_end_nothing_is_taken_for_an_error(events: EventModel, world_data: Dataset):
    index = index_of(world_data, world_data.facts)
    at_once, later = (corrections(events, index, index.num_steps + gap).of(index.triples) for gap in (0, 60))
    assert torch.equal(at_once, later)


def test_each_step_is_forecast_once(events: EventModel, world_data: Dataset, monkeypatch: pytest.MonkeyPatch):
    errors, asked = RecentErrors(index_of(world_data, world_data.facts)), list[int]()
    original = RecentErrors._outcomes

    def counted(self: RecentErrors, networks: object, trees: object, step: int) -> Outcomes:
        asked.append(step)
        return original(self, networks, trees, step)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(RecentErrors, "_outcomes", counted)
    for elapsed in (100, 101, 101, 103):
        errors.before(events.intensity_networks, events.trees, elapsed)
    assert asked == list(range(100 - NUM_STEPS, 103))


def test_nothing_is_corrected_before_the_first_step(events: EventModel, world_data: Dataset):
    index = index_of(world_data, world_data.facts)
    for elapsed in (0, 1):
        assert not corrections(events, index, elapsed).of(index.triples).any()


def test_a_relation_that_suddenly_occurs_more_often_is_forecast_more_often(
    events: EventModel, model: Model, world_data: Dataset
):
    facts, time = world_data.facts, 170
    past = facts.before(time)
    # The relation occurs every day now, between entities of which it was hardly ever seen.
    relation = int(torch.bincount(torch.tensor(past.relation)).argmin())
    rows = past[past.relation == relation]
    added = [(int(rows.subject[0]), relation, int(rows.object[0]), step) for step in range(time - 6, time)]
    grown = Facts.concatenate(past, Facts.from_rows(added))
    asked = Triples(
        torch.tensor([int(rows.subject[-1])]), torch.tensor([relation]), torch.tensor([int(rows.object[-1])])
    )
    found = []
    for known in (past, grown):
        index = index_of(world_data, known)
        found.append(float(corrections(events, index, time - int(facts.time.min())).of(asked)[0, 0]))
    assert found[1] > found[0]
