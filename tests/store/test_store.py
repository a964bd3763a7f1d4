"""The store is a set of facts in the order of their addition, in both databases."""

import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from store.samples import LAST_STEP, dataset, visit
from titer.data.time_axis import MAX_STEPS
from titer.errors import MissingPackageError, StoreError
from titer.store import database, schema
from titer.store.facts import FactStore, NamedFact, RefusedFactsError

names = st.sampled_from(["Ada", "Ben", "Cleo", "Dan", "Łódź", 'D\'Arcy "x"; --'])
facts_of_any_time = st.builds(
    NamedFact, names, st.sampled_from(["visit", "praise"]), names, st.integers(-3, LAST_STEP + 5)
)
batches = st.lists(st.lists(facts_of_any_time, max_size=6), max_size=6)


def stored(store: FactStore, since: int = 0) -> list[NamedFact]:
    return [fact for _, fact, _ in store.since(since)]


def as_named(store: FactStore) -> set[NamedFact]:
    vocabulary = store.dataset.vocabulary
    return {
        NamedFact(vocabulary.entities[s], vocabulary.relations[r], vocabulary.entities[o], t)
        for s, r, o, t in store.dataset.facts
    }


def test_facts_are_returned_in_order_and_numbered_without_gaps(address: str):
    sent = [visit("Ada", "Ben", 6), visit("Dan", "Ada", 5), visit("Ada", "Eve", 9)]
    with FactStore(address, dataset()) as store:
        added = store.add(sent)
    assert (added.added, added.known, added.last_sequence) == (3, 0, 3)
    assert added.new_entities == ["Dan", "Eve"]
    with FactStore(address, dataset()) as again:
        assert stored(again) == sent
        assert [fact.sequence for fact in again.since(1)] == [2, 3]
        assert [fact.sequence for fact in again.last_added(2)] == [2, 3]
        assert again.since(3) == []
        assert again.last_sequence == 3


def test_a_fact_is_stored_once(address: str):
    with FactStore(address, dataset()) as store:
        first = store.add([visit("Ada", "Ben", 6), visit("Ada", "Ben", 6), visit("Ada", "Ben", 7)])
        assert (first.added, first.known) == (2, 1)
        store.add([visit("Ada", "Ben", 9)])
        # Facts that are known already are not refused as too early.
        again = store.add([visit("Ada", "Ben", 6), visit("Ada", "Ben", 9), visit("Ada", "Ben", 10)])
        assert (again.added, again.known) == (1, 2)
        # In the dataset already.
        assert store.add([NamedFact("Ben", "praise", "Ada", LAST_STEP), visit("Ada", "Ben", 0)]).added == 0
        assert [fact.step for fact in stored(store)] == [6, 7, 9, 10]


def test_a_fact_before_the_last_known_step_is_refused_with_its_batch(address: str):
    with FactStore(address, dataset()) as store:
        store.add([visit("Ada", "Ben", 6)])
        with pytest.raises(RefusedFactsError, match="2018-10-05 is 2 days before the last known step, 2018-10-07") as e:
            store.add([visit("Ada", "Cleo", 8), visit("Ada", "Cleo", 4), visit("Ada", "Cleo", 3)])
        assert list(e.value.reasons) == [1, 2]
        assert len(stored(store)) == 1
        added = store.add([visit("Ada", "Cleo", 8), visit("Ada", "Cleo", 4), visit("Ada", "Cleo", -3)], backfill=True)
        assert (added.added, added.backfilled) == (3, 2)
        assert [fact.step for fact in stored(store)] == [6, 8, 4, -3]


def test_facts_at_the_last_known_step_are_accepted(address: str):
    with FactStore(address, dataset()) as store:
        assert store.add([visit("Ada", "Cleo", LAST_STEP)]).added == 1


@pytest.mark.parametrize(
    ("fact", "reason"),
    [
        (NamedFact("Ada", "marry", "Ben", 6), "unknown relation 'marry'"),
        (visit("", "Ben", 6), "a name is empty"),
        (visit("A\0da", "Ben", 6), "zero byte"),
        (visit("A\nda", "Ben", 6), "line break"),
        (visit("\ud800", "Ben", 6), "not valid Unicode"),
        (visit("Ada", "Ben", MAX_STEPS), "steps apart"),
    ],
)
def test_invalid_facts_are_refused(address: str, fact: NamedFact, reason: str):
    with FactStore(address, dataset()) as store:
        with pytest.raises(RefusedFactsError, match=reason) as refused:
            store.add([visit("Ada", "Ben", 6), fact])
        assert list(refused.value.reasons) == [1]
        assert store.last_sequence == 0
        assert store.add([]).added == 0


@pytest.mark.parametrize("steps", [(-3 * 10**9, 3 * 10**9), (3 * 10**9, -3 * 10**9)])
def test_new_facts_too_far_apart_are_refused(address: str, steps: tuple[int, int]):
    far_apart = [visit("Ada", "Ben", step) for step in steps]
    with FactStore(address, dataset()) as store:
        with pytest.raises(RefusedFactsError, match="steps apart") as refused:
            store.add(far_apart, backfill=True, allow_future=True)
        assert list(refused.value.reasons) == [1]
        assert store.last_sequence == 0
        # Each alone is close enough to the known facts.
        assert store.add(far_apart[:1], backfill=True, allow_future=True).added == 1


def test_a_batch_need_not_be_sorted(address: str):
    with FactStore(address, dataset()) as store:
        added = store.add([visit("Ada", "Ben", 9), visit("Ada", "Cleo", 6)])
        assert (added.added, added.backfilled) == (2, 0)


def test_names_may_be_long_and_contain_any_character(address: str):
    fact = visit("x" * 20_000, "'; DROP TABLE titer_facts; --%s :name \\ \N{SNOWMAN}", 6)
    with FactStore(address, dataset()) as store:
        store.add([fact])
        assert store.add([fact]).known == 1
        assert stored(store) == [fact]


@pytest.mark.slow
@given(batches=batches, backfill=st.booleans())
@settings(max_examples=40)
def test_the_store_is_a_set_in_order_of_addition(new_store: Callable[[], str], batches, backfill: bool):
    with FactStore(new_store(), dataset()) as store:
        known, expected, last = as_named(store), [], LAST_STEP
        for batch in batches:
            new = [fact for fact in dict.fromkeys(batch) if fact not in known]
            early = [fact for fact in new if fact.step < last]
            if early and not backfill:
                with pytest.raises(RefusedFactsError):
                    store.add(batch)
            else:
                added = store.add(batch, backfill=backfill)
                assert (added.added, added.known) == (len(new), len(batch) - len(new))
                assert added.backfilled == len(early)
                known.update(new)
                expected += new
                last = max([last, *(fact.step for fact in new)])
            assert stored(store) == expected
            assert store.last_sequence == len(expected)


def test_concurrent_threads_lose_no_fact(address: str):
    with FactStore(address, dataset()) as store:
        batches = [[visit(f"writer {w}", f"fact {b}.{i}", 7) for i in range(5)] for w in range(4) for b in range(5)]
        seen: list[int] = []

        def write(batches: list[list[NamedFact]]) -> None:
            for batch in batches:
                seen.append(store.add(batch).last_sequence)
                store.since(0)  # checks that no number is missing

        threads = [Thread(target=write, args=(batches[w * 5 : w * 5 + 5],)) for w in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = stored(store)
        assert sorted(seen) == list(range(5, 101, 5))
        # Batches stay together.
        assert sorted(found[i : i + 5] for i in range(0, 100, 5)) == sorted(batches)


@pytest.mark.slow
def test_a_new_store_can_be_opened_by_many_threads_at_once(new_store: Callable[[], str]):
    for _ in range(10):
        address, together, seen = new_store(), Barrier(6), []

        def use(number: int, address: str = address, together: Barrier = together, seen: list[int] = seen) -> None:
            together.wait()
            with FactStore(address, dataset()) as store:
                seen.append(store.add([visit("Ada", f"friend {number}", 6)]).last_sequence)

        threads = [Thread(target=use, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(seen) == [1, 2, 3, 4, 5, 6]


def test_a_store_of_another_dataset_is_refused(address: str):
    FactStore(address, dataset()).close()
    other = dataset("others", [(0, 0, 1, 0), (1, 1, 2, 1), (2, 0, 0, 2), (0, 0, 1, 3), (1, 1, 2, 4)])
    with pytest.raises(StoreError, match=r"belongs to another dataset \('people' .* not 'others'"):
        FactStore(address, other)


def change(address: str, statement: str) -> None:
    """Change a store with SQL."""
    from sqlalchemy import create_engine, text

    from titer.store.database import database_url

    engine = create_engine(database_url(address))
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("UPDATE titer_store SET format = 3", "has format 3; this version of titer uses 2"),
        ("DELETE FROM titer_store", "is damaged: the table titer_store is empty"),
        ("ALTER TABLE titer_store RENAME COLUMN dataset TO data", "cannot be used as a fact store"),
        ("UPDATE titer_facts SET object = 'Eve' WHERE sequence = 2", "fact 2 was changed"),
        ("UPDATE titer_facts SET step = 77 WHERE sequence = 1", "fact 1 was changed"),
        ("DELETE FROM titer_facts WHERE sequence = 2", "facts are missing"),
        ("DELETE FROM titer_facts WHERE sequence = 3", "facts are missing"),
    ],
)
def test_damage_is_detected(address: str, damage: str, message: str):
    with FactStore(address, dataset()) as store:
        store.add([visit("Ada", "Ben", step) for step in (6, 7, 8)])
    change(address, damage)
    with pytest.raises(StoreError, match=message), FactStore(address, dataset()) as store:
        store.since(0)


def test_a_store_that_has_lost_facts_is_detected(address: str):
    with FactStore(address, dataset()) as store, pytest.raises(StoreError, match="lost facts"):
        store.since(1)


def test_files_that_are_not_a_store_are_refused(tmp_path: Path):
    text = tmp_path / "text.db"
    text.write_text("subject,relation,object,time\n" * 100)
    with pytest.raises(StoreError, match="file is not a database"):
        FactStore(text, dataset())
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    with pytest.raises(StoreError, match="not a fact store"):
        FactStore(foreign, dataset())
    with pytest.raises(StoreError, match="No such file or directory"):
        FactStore(tmp_path / "nowhere" / "facts.db", dataset())
    whole = tmp_path / "facts.db"
    with FactStore(whole, dataset()) as store:
        store.add([visit(f"visitor {i}", "Ben", 6) for i in range(2000)])
    content = whole.read_bytes()
    whole.write_bytes(content[: len(content) // 2])
    with pytest.raises(StoreError, match="disk image is malformed"), FactStore(whole, dataset()) as store:
        store.since(0)


def test_an_empty_file_is_not_taken_for_a_new_store(tmp_path: Path):
    # A store is created in one step, so a process that is killed meanwhile leaves no such file: facts were lost.
    (tmp_path / "facts.db").touch()
    with pytest.raises(StoreError, match="its facts were lost"):
        FactStore(tmp_path / "facts.db", dataset())


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("facts.db", "not a database URL"),
        ("sqlite://", "sqlite:///FILE"),
        ("sqlite:///:memory:", "sqlite:///FILE"),
        ("mysql://user@host/facts", "unsupported database mysql"),
        ("postgresql://me:secret@127.0.0.1:1/facts", "postgresql\\+psycopg://me:\\*\\*\\*@127.0.0.1:1/facts cannot"),
    ],
)
def test_invalid_addresses_are_refused_without_revealing_a_password(address: str, message: str):
    with pytest.raises(StoreError, match=message) as refused:
        FactStore(address, dataset())
    assert "secret" not in str(refused.value)


def test_without_the_driver_of_postgresql_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'titer\[postgres\]'"):
        FactStore("postgresql://me@127.0.0.1:1/facts", dataset())


@pytest.mark.slow
def test_a_writer_waits_for_a_lock_until_the_timeout(address: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 1)
    with FactStore(address, dataset()) as holder, FactStore(address, dataset()) as other:
        with holder._writing() as connection:
            connection.execute(update(schema.about).values(last_sequence=schema.about.c.last_sequence))
            with pytest.raises(StoreError, match="lock"):
                other.add([visit("Ada", "Ben", 6)])
            assert other.since(0) == []  # readers need not wait
        assert other.add([visit("Ada", "Ben", 6)]).added == 1


@pytest.mark.slow
def test_a_server_that_does_not_respond_is_unreachable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(database.TIMEOUTS, "connect_timeout", "2")
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(StoreError, match="timeout"):
        FactStore(f"postgresql://user@127.0.0.1:{silent.getsockname()[1]}/facts", dataset())


def test_sqlite_uses_a_write_ahead_log_and_syncs_it(tmp_path: Path):
    with FactStore(tmp_path / "facts.db", dataset()) as store, store._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL


@pytest.mark.slow
def test_postgresql_commits_synchronously_whatever_the_server_setting(postgres):
    address = postgres.new_store() + "%20-csynchronous_commit%3Doff"
    with FactStore(address, dataset()) as store:
        with store._engine.connect() as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "off"
        with store._writing() as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"


def test_without_sqlalchemy_the_error_has_the_install_command():
    code = "import sys; sys.modules['sqlalchemy'] = None\ntry:\n    import titer.store.facts\n"
    code += "except Exception as error:\n    print(type(error).__name__, error)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.startswith("MissingPackageError")
    assert "pip install 'titer[serve]'" in shown
