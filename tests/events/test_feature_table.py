"""Features that are shared by groups are those that are computed for each fact."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.events.feature_table import FeatureTable
from titer.events.index import MAX_CALENDAR, EventIndex
from titer.events.network import AGES, IntensityNetwork
from titer.events.novelty import Novelty
from titer.events.pairings import Pairings
from titer.graph.history import History

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 3), st.integers(0, 12)), min_size=1)


def index_of(rows: list[tuple[int, int, int, int]]) -> EventIndex:
    vocabulary = Vocabulary([f"e{i}" for i in range(4)], ["r0", "r1"])
    return EventIndex(History(Facts.from_rows(rows), vocabulary), TimeAxis(TimeUnit.DAY, "2023-01-02"))


@given(ROWS, st.integers(1, 13), st.integers(1, 30))
def test_a_table_has_the_features_of_each_fact(rows: list[tuple[int, int, int, int]], time: int, ahead: int):
    index = index_of(rows)
    table = FeatureTable(index, time)
    triples, elapsed = table.triples, torch.full_like(table.place, time)
    states = index.states(triples, elapsed)
    every = torch.arange(len(table.place))
    assert torch.allclose(table.features(slice(None)), index.features(states, elapsed), atol=1e-5)
    expected = index.target_features(triples, states["fact"], elapsed, torch.full_like(elapsed, ahead))
    assert torch.allclose(table.step_features(every, ahead), expected, atol=1e-5)
    one, other = table.bag[table.pair(slice(None))], index.bag(triples, elapsed)
    assert torch.equal(one.offset, other.offset)
    assert torch.equal(one.relation, other.relation)
    assert torch.allclose(one.weight, other.weight, atol=1e-5)
    assert torch.equal(one.age, other.age)
    network = IntensityNetwork(2).eval()
    (recalled,) = table.recall([network], table.pair(slice(None)), ahead)
    assert torch.allclose(recalled, network.recall(other, torch.full_like(elapsed, ahead)), atol=1e-5)


@given(ROWS, st.integers(1, 13), st.integers(1, 30))
def test_facts_between_the_entities_are_recalled_by_their_age_in_the_forecast_step(
    rows: list[tuple[int, int, int, int]], time: int, ahead: int
):
    index, network = index_of(rows), IntensityNetwork(2).eval()
    table = FeatureTable(index, time)
    (recalled,) = table.recall([network], table.pair(slice(None)), ahead)
    for place, (s, o) in enumerate(zip(table.triples.subject.tolist(), table.triples.object.tolist(), strict=True)):
        pooled = torch.zeros(len(AGES), network.aged.shape[1])
        for relation in range(4):
            ends = (s, o) if relation < 2 else (o, s)
            times = [t - index.first_time for a, r, b, t in rows if (a, b) == ends and r == relation % 2]
            ages = [time + ahead - 1 - t for t in times if t < time]
            groups = [group for group, largest in enumerate(AGES) if ages and min(ages) <= largest]
            if groups:
                pooled[groups[0]] += network.aged[relation].detach()
        assert torch.allclose(recalled[place], network.blend(pooled.flatten()), atol=1e-5)


def test_an_event_of_every_week_looks_the_same_in_each_coming_week():
    index = index_of([(0, 0, 1, 7 * week) for week in range(4)])
    table = FeatureTable(index, 22)
    # Not the number of steps ahead, nor the time since the last fact, which is there for what follows it.
    columns = [*range(MAX_CALENDAR), *range(MAX_CALENDAR + 5, MAX_CALENDAR + 8)]
    one, *others = (table.step_features(torch.tensor([0]), ahead)[:, columns] for ahead in (7, 14, 21, 28))
    for other in others:
        assert torch.equal(one, other)
    assert not torch.equal(one, table.step_features(torch.tensor([0]), 8)[:, columns])


@given(ROWS, st.integers(1, 13))
def test_a_table_has_the_features_of_facts_that_never_occurred(rows: list[tuple[int, int, int, int]], time: int):
    index = index_of(rows)
    table, triples = FeatureTable(index, time), Pairings(index).before(time, 100).triples
    elapsed = torch.full_like(triples.subject, time)
    expected = index.features(index.states(triples, elapsed), elapsed)
    assert torch.allclose(table.features_of_new(triples), expected, atol=1e-5)
    one, other = table.bag[index.find_pair(triples)], index.bag(triples, elapsed)
    assert torch.equal(one.relation, other.relation)
    assert torch.allclose(one.weight, other.weight, atol=1e-5)


@given(ROWS, st.integers(1, 13))
def test_pairs_share_the_features_of_their_groups(rows: list[tuple[int, int, int, int]], time: int):
    novelty = Novelty(index_of(rows))
    pair = novelty.before(time)
    expected = novelty.features(pair, torch.full_like(pair, time))
    assert torch.allclose(novelty.features_in(novelty.tables(time), pair), expected, atol=1e-5)


@given(ROWS, st.integers(1, 13), st.integers(1, 30))
def test_a_table_does_not_depend_on_facts_at_or_after_its_time(
    rows: list[tuple[int, int, int, int]], time: int, ahead: int
):
    first = min(row[3] for row in rows)
    tables = [FeatureTable(index_of(known), time) for known in (rows, [r for r in rows if r[3] < first + time])]
    one, other = (table.features(slice(None)) for table in tables)
    assert torch.allclose(one, other, atol=1e-5)
    one, other = (table.step_features(torch.arange(len(table.place)), ahead) for table in tables)
    assert torch.allclose(one, other, atol=1e-5)
    bags = [table.bag[table.pair(slice(None))] for table in tables]
    assert torch.equal(bags[0].relation, bags[1].relation)
    assert torch.allclose(bags[0].weight, bags[1].weight, atol=1e-5)
    assert torch.equal(bags[0].age, bags[1].age)
