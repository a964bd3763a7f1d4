"""The live history equals the history of all facts, and later facts do not affect earlier questions."""

import random
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from store.samples import LAST_STEP, dataset, visit
from store.test_store import facts_of_any_time
from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph import history as history_module
from titer.graph.history import History
from titer.store.facts import FactStore, NamedFact
from titer.store.live import LiveHistory


def all_at_once(store: FactStore) -> History:
    """Return the same history, built from all facts."""
    known = store.dataset.vocabulary
    facts = [fact for _, fact, _ in store.since(0)]
    names = dict.fromkeys([*known.entities, *(name for fact in facts for name in (fact.subject, fact.object))])
    vocabulary = Vocabulary(names, known.relations)
    ids, relations = vocabulary.entity_ids, vocabulary.relation_ids
    rows = [(ids[f.subject], relations[f.relation], ids[f.object], f.step) for f in facts]
    return History(Facts.concatenate(store.dataset.facts, Facts.from_rows(rows)), vocabulary)


def assert_same(found: History, expected: History) -> None:
    assert found.vocabulary == expected.vocabulary
    assert (found.first_time, found.last_time) == (expected.first_time, expected.last_time)
    for name in ("key", "relation", "object", "offsets"):
        assert torch.equal(getattr(found, name), getattr(expected, name)), name
    assert found.max_edges == expected.max_edges


@pytest.mark.slow
@given(
    batches=st.lists(st.tuples(st.lists(facts_of_any_time, max_size=5), st.booleans()), max_size=6),
    seed=st.integers(0, 9),
)
@settings(max_examples=40)
def test_it_always_equals_the_history_of_all_facts(new_store: Callable[[], str], batches, seed: int):
    chance = random.Random(seed)
    with FactStore(new_store(), dataset()) as store:
        live, late = LiveHistory(store), LiveHistory(store)
        for batch, later in batches:
            # Half of the batches only continue, the others come between what is known.
            shift = 20 * later
            store.add([fact._replace(step=fact.step + shift) for fact in batch], backfill=True)
            if chance.random() < 0.5:
                assert_same(live.current(), all_at_once(store))
        assert_same(live.current(), all_at_once(store))
        assert_same(late.current(), live.current())


def test_it_is_the_same_object_without_new_facts_and_old_ones_do_not_change(address: str):
    with FactStore(address, dataset()) as store:
        live = LiveHistory(store)
        before = live.current()
        assert live.current() is before
        store.add([visit("Ada", "Dan", LAST_STEP + 1)])
        after = live.current()
        assert after.num_edges == before.num_edges + 2
        assert (after.vocabulary.entities[-1], before.vocabulary.num_entities) == ("Dan", 3)


def test_only_new_facts_are_sorted_even_in_a_backfill(address: str, monkeypatch: pytest.MonkeyPatch):
    sorted_facts: list[int] = []

    def watched(facts: Facts, *others: Any) -> Any:
        sorted_facts.append(len(facts))
        return sort(facts, *others)

    sort = history_module.sorted_edges
    with FactStore(address, dataset()) as store:
        live = LiveHistory(store)
        monkeypatch.setattr(history_module, "sorted_edges", watched)
        for step in (LAST_STEP + 1, 2, -7):
            store.add([visit("Ada", "Dan", step), visit("Ben", "Ada", step)], backfill=True)
            live.current()
    assert sorted_facts == [2, 2, 2]


def test_facts_are_added_once_after_a_failure(address: str, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> History:
        raise MemoryError

    with FactStore(address, dataset()) as store:
        live = LiveHistory(store)
        store.add([visit("Ada", "Dan", LAST_STEP + 1)])
        with monkeypatch.context() as patch:
            patch.setattr(History, "including", fail)
            for _ in range(2):
                with pytest.raises(MemoryError):
                    live.current()
        assert_same(live.current(), all_at_once(store))
        store.add([visit("Another", "Ada", 2)], backfill=True)
        assert_same(live.current(), all_at_once(store))


def test_processes_assign_the_same_ids(address: str):
    with FactStore(address, dataset()) as store, FactStore(address, dataset()) as other:
        early = LiveHistory(other)
        store.add([visit("Dan", "Eve", 6)])
        early.current()
        store.add([visit("Fay", "Dan", 7), visit("Ada", "Gus", 7)])
        store.add([visit("Hal", "Ada", 2)], backfill=True)
        assert early.current().vocabulary == LiveHistory(store).current().vocabulary
        assert early.current().vocabulary.entities == ["Ada", "Ben", "Cleo", "Dan", "Eve", "Fay", "Gus", "Hal"]


@pytest.mark.parametrize("step", [LAST_STEP + 1, LAST_STEP + 2])
def test_facts_added_at_or_after_a_time_are_not_visible_before_it(address: str, step: int):
    asked = torch.full((3,), LAST_STEP + 1)
    with FactStore(address, dataset()) as store:
        live = LiveHistory(store)
        before = live.current().latest(torch.arange(3), asked, 10)
        store.add([visit("Ada", "Ben", step), visit("Ada", "Dan", step)])
        after = live.current().latest(torch.arange(3), asked, 10)
        for name in ("relation", "time", "mask"):
            there = before.mask
            assert torch.equal(getattr(after, name)[there], getattr(before, name)[there])
        assert torch.equal(after.mask, before.mask)
        assert torch.equal(after.object[before.mask], before.object[before.mask])
        assert int(live.current().count_before(torch.tensor([0]), torch.tensor([step + 1]))) > int(before.mask[0].sum())


def test_threads_see_complete_batches(address: str):
    with FactStore(address, dataset()) as store:
        live = LiveHistory(store)
        sizes: list[int] = []

        def read() -> None:
            while not sizes or sizes[-1] < 20:
                sizes.append((live.current().num_edges - 2 * len(store.dataset.facts)) // 2)

        readers = [Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for batch in range(5):
            store.add([NamedFact(f"new {batch}", "visit", f"other {i}", 7 + batch) for i in range(4)])
        for reader in readers:
            reader.join(60)
        assert set(sizes) <= {0, 4, 8, 12, 16, 20}
        assert_same(live.current(), all_at_once(store))
