"""Added facts can be removed; forecasts change at once, and the journal records it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import delete

from store.conftest import NewStore
from store.samples import LAST_STEP, dataset, visit
from titer.data.facts import Facts
from titer.errors import StoreError
from titer.graph.history import History
from titer.store import schema
from titer.store.facts import FactStore, NamedFact, RefusedFactsError, UnknownNumberError
from titer.store.live import LiveHistory

NAMES = ["Ada", "Ben", "Cleo", "Dora", "Egon"]
FACTS = st.builds(visit, st.sampled_from(NAMES), st.sampled_from(NAMES), st.integers(LAST_STEP, LAST_STEP + 3))


def facts_of(store: FactStore) -> list[NamedFact]:
    return [fact for _, fact, _ in store.since(0)]


def edges(history: History) -> list[tuple[str, int, str, int]]:
    """Return all directed edges in names."""
    names = history.vocabulary.entities
    entity, time = history.key[:-1] >> 32, (history.key[:-1] & 0xFFFFFFFF) + history.first_time
    columns = (column.tolist() for column in (entity, history.relation[:-1], history.object[:-1], time))
    return sorted((names[s], r, names[o], t) for s, r, o, t in zip(*columns, strict=True))


def rebuilt(store: FactStore) -> History:
    """Return a history made from scratch."""
    found, known = facts_of(store), store.dataset
    if not found:
        return History(known.facts, known.vocabulary)
    names = dict.fromkeys([*known.vocabulary.entities, *(n for f in found for n in (f.subject, f.object))])
    vocabulary = type(known.vocabulary)(list(names), known.vocabulary.relations)
    ids = vocabulary.entity_ids
    rows = [(ids[f.subject], vocabulary.relation_ids[f.relation], ids[f.object], f.step) for f in found]
    return History(Facts.concatenate(known.facts, Facts.from_rows(rows)), vocabulary)


@settings(max_examples=20)
@given(changes=st.lists(st.one_of(st.lists(FACTS, min_size=1, max_size=4), st.integers(0, 9), st.none()), max_size=8))
def test_the_history_is_that_of_the_facts_that_are_left(new_store: NewStore, changes: list[object]):
    """Lists add facts, numbers remove one fact, None undoes the last addition."""
    with FactStore(new_store(), dataset()) as store:
        live, expected = LiveHistory(store), dict[int, NamedFact]()
        additions: list[list[int]] = []
        for change in changes:
            if isinstance(change, list):
                before = store.last_sequence
                store.add(change, backfill=True)
                added = {one.sequence: one.fact for one in store.since(before)}
                additions += [list(added)] if added else []
                expected |= added
            elif isinstance(change, int) and expected:
                number = sorted(expected)[change % len(expected)]
                assert [one.sequence for one in store.remove([number]).facts] == [number]
                del expected[number]
            elif change is None and expected:
                last = next(one for one in reversed(additions) if set(one) & set(expected))
                assert {one.sequence for one in store.undo().facts} == set(last) & set(expected)
                expected = {number: fact for number, fact in expected.items() if number not in last}
            assert facts_of(store) == list(expected.values())
            assert store.num_facts == len(expected)
            assert edges(live.current()) == edges(rebuilt(store))
        with FactStore(store._url.render_as_string(hide_password=False), dataset()) as again:
            other = LiveHistory(again).current()
            assert edges(other) == edges(live.current())
            assert other.vocabulary.entities == live.current().vocabulary.entities


def test_a_removal_is_recorded_and_the_fact_can_be_added_again(address: str):
    with FactStore(address, dataset()) as store:
        store.add([visit("Ada", "Ben", 6), visit("Ada", "Dora", 6)], note="new.csv")
        store.remove([1], note="wrong year")
        journal = [(one.kind, one.num_facts, one.note) for one in store.journal()]
        assert journal == [("add", 2, "new.csv"), ("remove", 1, "wrong year")]
        assert store.add([visit("Ada", "Ben", 6)]).last_sequence == 3
        assert [one.sequence for one in store.since(0)] == [2, 3]
        assert [one.sequence for one in store.page(0, 1)] == [2]


def test_nothing_is_removed_if_a_number_is_unknown(address: str):
    with FactStore(address, dataset()) as store:
        store.add([visit("Ada", "Ben", 6)])
        for wrong in ([1, 2], [0], [-1], [1, 2**63], [-(2**63) - 1]):
            with pytest.raises(UnknownNumberError, match="no added fact has the number"):
                store.remove(wrong)
        assert store.num_facts == 1
        store.undo()
        with pytest.raises(UnknownNumberError, match="no recorded addition"):
            store.undo()


def test_a_fact_that_is_missing_without_a_removal_is_damage(address: str):
    with FactStore(address, dataset()) as store:
        store.add([visit("Ada", name, 6) for name in ("Ben", "Dora", "Egon")])
        store.remove([1])
        with store._writing() as connection:
            connection.execute(delete(schema.facts).where(schema.facts.c.sequence == 2))
        with pytest.raises(StoreError, match="facts are missing"):
            store.update()


def test_a_store_without_a_journal_gets_one(tmp_path: Path):
    with FactStore(tmp_path / "facts.db", dataset()) as store:
        store.add([visit("Ada", "Ben", 6)])
    with closing(sqlite3.connect(tmp_path / "facts.db")) as connection:  # as an older version wrote it
        connection.executescript("DROP TABLE titer_changes; DROP TABLE titer_removed;")
    with FactStore(tmp_path / "facts.db", dataset()) as store:
        assert facts_of(store) == [visit("Ada", "Ben", 6)]
        store.remove([1])
        assert facts_of(store) == []


class TestFuture:
    @pytest.mark.parametrize("step", [2_913_354, LAST_STEP + 101])
    def test_a_fact_of_the_far_future_needs_a_confirmation(self, address: str, step: int):
        with FactStore(address, dataset()) as store:
            with pytest.raises(RefusedFactsError, match="allow_future"):
                store.add([visit("Ada", "Ben", step)])
            assert store.num_facts == 0
            assert store.add([visit("Ada", "Ben", step)], allow_future=True).added == 1

    def test_a_fact_of_the_near_future_of_the_history_needs_none(self, address: str):
        with FactStore(address, dataset()) as store:
            assert store.add([visit("Ada", "Ben", LAST_STEP + 100)]).added == 1

    def test_a_poisoned_store_is_cured_by_undo(self, address: str):
        with FactStore(address, dataset()) as store:
            store.add([visit("Ada", "Ben", 2_913_354)], allow_future=True)
            with pytest.raises(RefusedFactsError, match="before the last known step"):
                store.add([visit("Ada", "Ben", 6)])
            store.undo()
            assert store.add([visit("Ada", "Ben", 6)]).added == 1


class TestFiles:
    @pytest.mark.parametrize("content", [b"", b"\0" * 4096, b"SQLite format 3\0"])
    def test_an_emptied_store_is_never_taken_for_a_new_one(self, tmp_path: Path, content: bytes):
        path = tmp_path / "facts.db"
        with FactStore(path, dataset()) as store:
            store.add([visit("Ada", "Ben", 6)])
        path.write_bytes(content)
        with pytest.raises(StoreError, match=r"facts\.db"):
            FactStore(path, dataset())
        assert path.read_bytes() == content

    def test_a_store_that_lost_its_tables_is_never_taken_for_a_new_one(self, tmp_path: Path):
        with closing(sqlite3.connect(tmp_path / "facts.db")) as connection:
            connection.executescript("CREATE TABLE a (b); DROP TABLE a;")
        with pytest.raises(StoreError, match="its facts were lost"):
            FactStore(tmp_path / "facts.db", dataset())

    @pytest.mark.parametrize("how", ["deleted", "replaced"])
    def test_no_fact_is_acknowledged_in_a_deleted_or_replaced_file(self, tmp_path: Path, how: str):
        path = tmp_path / "facts.db"
        with FactStore(path, dataset()) as store:
            store.add([visit("Ada", "Ben", 6)])
            path.rename(tmp_path / "away.db")
            if how == "replaced":
                FactStore(path, dataset()).close()
            with pytest.raises(StoreError, match=f"{how}.* while it was in use"):
                store.add([visit("Ada", "Dora", 6)])
            with pytest.raises(StoreError, match="while it was in use"):
                store.update()

    def test_nothing_is_left_beside_a_new_store(self, tmp_path: Path):
        FactStore(tmp_path / "facts.db", dataset()).close()
        assert [path.name for path in tmp_path.iterdir()] == ["facts.db"]

    def test_a_store_that_cannot_be_written_to_can_be_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        path = tmp_path / "facts.db"
        with FactStore(path, dataset()) as store:
            store.add([visit("Ada", "Ben", 6)])
        monkeypatch.setattr("titer.store.opened._is_writable", lambda file: False)  # root may write everywhere
        with FactStore(path, dataset()) as store:
            assert facts_of(store) == [visit("Ada", "Ben", 6)]
            with pytest.raises(StoreError, match="read-only"):
                store.add([visit("Ada", "Dora", 6)])
        assert [entry.name for entry in tmp_path.iterdir()] == ["facts.db"]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hidden@127.0.0.1:1/x",
        "postgresql://me@127.0.0.1:1/x?password=hidden",
        "postgresql://me@127.0.0.1:1/x?sslpassword=hidden&connect_timeout=1",
    ],
)
def test_no_message_shows_a_password(url: str):
    with pytest.raises(StoreError) as raised:
        FactStore(url, dataset())
    assert "hidden" not in str(raised.value)
