"""The history against a brute-force oracle."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strategies import LAST_TIME, MAX_RELATIONS, Graph, directed_edges, graphs, random_facts
from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError
from titer.graph.history import History
from titer.graph.queries import Queries

TIMES = st.integers(-5, LAST_TIME + 3)


def past_of(graph: Graph, entity: int, before: int, inclusive: bool = False) -> list[tuple[int, int, int]]:
    """Oracle: (relation, object, time) of an entity's past edges, in order of time and then of the facts."""
    limit = before + 1 if inclusive else before
    edges = directed_edges(graph.facts, graph.vocabulary)
    past = [(r, o, t) for s, r, o, t in edges if s == entity and t < limit]
    return sorted(past, key=lambda edge: edge[2])


def batch_of(graph: Graph, before: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Every entity, including the padding entity, at one time."""
    entities = torch.arange(graph.vocabulary.num_entities + 1)
    return entities, torch.full_like(entities, before)


@given(graphs(), TIMES, st.integers(1, 12), st.booleans())
def test_latest_gives_exactly_the_latest_edges_before_the_time(graph: Graph, before: int, limit: int, inclusive: bool):
    entities, times = batch_of(graph, before)
    found = History(graph.facts, graph.vocabulary).latest(entities, times, limit, inclusive=inclusive)
    for entity in entities.tolist():
        expected = past_of(graph, entity, before, inclusive)[::-1][:limit]
        mask = found.mask[entity]
        edges = zip(
            *(column[entity][mask].tolist() for column in (found.relation, found.object, found.time)), strict=True
        )
        assert list(edges) == expected
        assert mask.tolist() == [True] * len(expected) + [False] * (limit - len(expected))


@given(graphs(), st.lists(TIMES, max_size=3))
def test_an_entity_is_known_once_it_has_an_edge_before_the_time(graph: Graph, times: list[int]):
    history, entities = History(graph.facts, graph.vocabulary), torch.arange(graph.vocabulary.num_entities)
    found = history.are_known(entities, torch.tensor(times, dtype=torch.int64))
    assert found.shape == (len(times), len(entities))
    assert found.tolist() == [[bool(past_of(graph, entity, time)) for entity in entities.tolist()] for time in times]


@given(graphs(), TIMES)
def test_elapsed_counts_from_the_first_fact_and_is_never_negative(graph: Graph, time: int):
    history = History(graph.facts, graph.vocabulary)
    first = min((t for *_, t in graph.facts), default=0)
    assert history.elapsed(torch.tensor([time, first, 1 << 50])).tolist() == [max(time - first, 0), 0, (1 << 32) - 1]


@given(graphs(), TIMES)
def test_edges_at_or_after_the_time_are_never_returned(graph: Graph, before: int):
    history = History(graph.facts, graph.vocabulary)
    entities, times = batch_of(graph, before)
    latest = history.latest(entities, times, 100)
    assert bool((latest.time[latest.mask] < before).all())
    assert bool((history.all_before(entities, times).time < before).all())
    nth = history.nth_latest(entities, times, torch.ones_like(entities))
    exists = nth.relation != graph.vocabulary.relation_padding
    assert bool((nth.time[exists] < before).all())
    inclusive = history.latest(entities, times, 100, inclusive=True)
    assert bool((inclusive.time[inclusive.mask] <= before).all())


@given(graphs(), TIMES)
def test_all_before_gives_every_past_edge_in_order(graph: Graph, before: int):
    history = History(graph.facts, graph.vocabulary)
    entities, times = batch_of(graph, before)
    found = history.all_before(entities, times)
    edges = list(zip(*(c.tolist() for c in (found.row, found.relation, found.object, found.time)), strict=True))
    assert edges == [(e, *edge) for e in entities.tolist() for edge in past_of(graph, e, before)]
    assert history.count_before(entities, times).tolist() == [len(past_of(graph, e, before)) for e in entities.tolist()]


@given(graphs(), TIMES, st.integers(0, 5))
def test_nth_latest_is_the_nth_of_the_latest(graph: Graph, before: int, n: int):
    history = History(graph.facts, graph.vocabulary)
    entities, times = batch_of(graph, before)
    found = history.nth_latest(entities, times, torch.full_like(entities, n))
    for entity in entities.tolist():
        past = past_of(graph, entity, before)
        edge = (int(found.relation[entity]), int(found.object[entity]), int(found.time[entity]))
        nothing = (graph.vocabulary.relation_padding, graph.vocabulary.entity_padding, 0)
        assert edge == (past[-n] if 1 <= n <= len(past) else nothing)


@given(graphs())
def test_missing_edges_have_the_padding_ids(graph: Graph):
    entities, times = batch_of(graph, LAST_TIME + 1)
    found = History(graph.facts, graph.vocabulary).latest(entities, times, 200)
    assert bool((found.relation[~found.mask] == graph.vocabulary.relation_padding).all())
    assert bool((found.object[~found.mask] == graph.vocabulary.entity_padding).all())
    assert bool((found.relation[found.mask] < graph.vocabulary.num_directed_relations).all())


@given(graphs(), st.sets(st.integers(0, 39)), TIMES)
def test_removing_facts_equals_building_without_them(graph: Graph, chosen: set[int], before: int):
    """Also for repeated facts, self-loops, and facts that are not in the history."""
    removed = [fact for i, fact in enumerate(graph.facts) if i in chosen]
    rows = [fact for fact in graph.facts if fact not in set(removed)]
    absent = [(0, 0, 0, -50), (0, 0, 0, LAST_TIME + 50)]
    history = History(graph.facts, graph.vocabulary)
    smaller = history.without(Facts.from_rows(removed + absent))
    rebuilt = History(Facts.from_rows(rows), graph.vocabulary)
    entities, times = batch_of(graph, before)
    for name in ("row", "relation", "object", "time"):
        found, expected = (getattr(h.all_before(entities, times), name) for h in (smaller, rebuilt))
        assert torch.equal(found, expected)
    assert smaller.num_edges == rebuilt.num_edges == 2 * len(rows)
    assert history.num_edges == 2 * len(graph.facts)
    queries = Queries(entities[:-1], torch.zeros_like(entities[:-1]), times[:-1])
    assert torch.equal(smaller.popularity.share(queries), rebuilt.popularity.share(queries))
    past = sum(relation == 0 and time < before for _, relation, _, time in rows)
    assert smaller.popularity.num_facts(queries).tolist() == [past] * len(queries)


@pytest.mark.slow
@given(graphs(), graphs(), TIMES)
def test_including_facts_equals_building_with_them(graph: Graph, more: Graph, before: int):
    """Also for facts before the first one, new entities, and a fact that the history has already."""
    larger = Vocabulary.numbered(max(graph.vocabulary.num_entities, more.vocabulary.num_entities), MAX_RELATIONS)
    smaller = Vocabulary.numbered(graph.vocabulary.num_entities, MAX_RELATIONS)
    merged = History(graph.facts, smaller).including(more.facts, larger)
    rebuilt = History(Facts.concatenate(graph.facts, more.facts), larger)
    entities = torch.arange(larger.num_entities + 1)
    times = torch.full_like(entities, before)
    for name in ("row", "relation", "object", "time"):
        found, expected = (getattr(h.all_before(entities, times), name) for h in (merged, rebuilt))
        assert torch.equal(found, expected)
    assert (merged.first_time, merged.last_time) == (rebuilt.first_time, rebuilt.last_time)


def test_including_facts_does_not_change_the_original_history():
    facts = random_facts(0, 200, 10, 3, 20)
    vocabulary = Vocabulary.numbered(10, 3)
    history = History(facts, vocabulary)
    before = history.key.clone()
    history.including(Facts.from_rows([(1, 1, 2, 30)]))
    assert torch.equal(history.key, before)


def test_facts_outside_the_vocabulary_are_rejected():
    with pytest.raises(DataError, match="vocabulary"):
        History(Facts.from_rows([(0, 0, 7, 5)]), Vocabulary.numbered(2, 1))


def test_times_far_apart_are_rejected_and_large_times_are_not():
    vocabulary = Vocabulary.numbered(2, 1)
    with pytest.raises(DataError, match="coarser"):
        History(Facts.from_rows([(0, 0, 1, 0), (0, 0, 1, 1 << 33)]), vocabulary)
    for time in (-(1 << 33), 1 << 33):
        with pytest.raises(DataError, match="coarser"):
            History(Facts.from_rows([(0, 0, 1, 0)]), vocabulary).including(Facts.from_rows([(0, 0, 1, time)]))
    history = History(Facts.from_rows([(0, 0, 1, 1 << 40), (0, 0, 1, (1 << 40) + 1)]), vocabulary)
    edges = history.latest(torch.tensor([0]), torch.tensor([(1 << 40) + 1]), 5)
    assert edges.time[edges.mask].tolist() == [1 << 40]


def test_a_history_takes_16_bytes_per_edge_and_8_per_entity():
    history = History(random_facts(1, 20_000, 500, 20, 300), Vocabulary.numbered(500, 20))
    assert history.num_edges == 40_000
    # One more edge and one more entity: the padding.
    assert history.num_bytes == 16 * 40_001 + 8 * 501
    tensors = {t.data_ptr(): t.nbytes for t in vars(history).values() if isinstance(t, torch.Tensor)}
    assert sum(tensors.values()) == history.num_bytes


def test_the_order_of_a_batch_does_not_matter():
    history = History(random_facts(2, 500, 20, 4, 30), Vocabulary.numbered(20, 4))
    entities, times = torch.arange(20), torch.arange(20) + 5
    shuffled = torch.randperm(20, generator=torch.Generator().manual_seed(0))
    one, other = history.latest(entities, times, 7), history.latest(entities[shuffled], times[shuffled], 7)
    assert torch.equal(one.object[shuffled], other.object)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize("limit", [1, 30, 100])
def test_a_gpu_gives_the_same_edges(inclusive: bool, limit: int):
    facts = random_facts(3, 5000, 50, 4, 40)
    history = History(facts[facts.time >= 7], Vocabulary.numbered(50, 4))
    entities, times = torch.arange(51).repeat(5), torch.arange(255) % 47 - 2
    on_cpu = history.latest(entities, times, limit, inclusive=inclusive)
    on_gpu = history.to("cuda").latest(entities.cuda(), times.cuda(), limit, inclusive=inclusive)
    for name in ("relation", "object", "time", "mask"):
        assert torch.equal(getattr(on_cpu, name), getattr(on_gpu, name).cpu())


@pytest.mark.parametrize("time", [-(2**32), -(10**18), 2**33])
def test_a_fact_too_far_from_the_others_is_rejected(time: int):
    vocabulary = Vocabulary(["a", "b"], ["r"])
    history = History(Facts.from_rows([(0, 0, 1, 0), (0, 0, 1, 5)]), vocabulary)
    with pytest.raises(DataError, match="spans at most"):
        history.including(Facts.from_rows([(1, 0, 0, time)]))
    assert history.including(Facts.from_rows([(1, 0, 0, 6 - 2**32)])).num_edges == 6
