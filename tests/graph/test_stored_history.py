"""Stored indexes: equal to built ones, replaced if they do not match, and shared by processes."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strategies import random_facts
from titer.data.dataset import SPLITS, Dataset
from titer.data.dataset_folder import open_dataset, save_dataset
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import ConfigError
from titer.evaluation.protocol import Past, Protocol
from titer.evaluation.task import EvaluationTask
from titer.graph import history as history_module
from titer.graph import stored_history
from titer.graph.edge_columns import COLUMNS
from titer.graph.history import History
from titer.graph.pair_index import PairIndex
from titer.graph.stored_columns import PAGE, PAGES_AT_ONCE, checksum, open_columns, write_columns
from titer.graph.stored_history import history_of
from warm_processes import WarmProcess


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset folder, large enough to store its index."""
    monkeypatch.setattr(stored_history, "MIN_FACTS", 100)
    monkeypatch.setenv("TITER_CACHE", str(tmp_path / "cache"))
    save(tmp_path / "data", seed=0)
    return tmp_path / "data"


def save(folder: Path, seed: int) -> None:
    facts = random_facts(seed, 600, 40, 3, 30)
    splits = (facts[:400], facts[400:500], facts[500:])
    save_dataset(Dataset("random", Vocabulary.numbered(40, 3), TimeAxis(), *splits), folder, overwrite=True)


def assert_right(history: History, dataset: Dataset, until: str = "test") -> None:
    facts = [dataset.splits[name] for name in SPLITS[: SPLITS.index(until) + 1]]
    expected = History(Facts.concatenate(*facts), dataset.vocabulary)
    for name in COLUMNS:
        assert torch.equal(getattr(history, name), getattr(expected, name)), name
    assert (history.first_time, history.last_time) == (expected.first_time, expected.last_time)
    assert history.max_edges == expected.max_edges
    for name, column in PairIndex(expected).columns.items():
        assert torch.equal(history.pair_index.columns[name], column), name


def never(*_: object) -> None:
    raise AssertionError("an index is built")


def test_a_stored_index_is_used_again_and_equals_a_built_one(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    assert_right(history_of(open_dataset(folder)), open_dataset(folder))
    parts = [folder / "index" / part for part in ("history", "pairs")]
    assert capsys.readouterr().err == "".join(f"indexing 600 facts; the index is kept in {part}\n" for part in parts)
    with monkeypatch.context() as patch:
        patch.setattr(stored_history, "write_columns", never)
        again = history_of(open_dataset(folder))
        assert isinstance(again.pair_index, PairIndex)
    assert_right(again, open_dataset(folder))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("until", SPLITS)
def test_evaluations_use_the_stored_index_of_the_facts_they_may_see(
    folder: Path, until: str, monkeypatch: pytest.MonkeyPatch
):
    _ = history_of(open_dataset(folder), until).pair_index
    monkeypatch.setattr(stored_history, "write_columns", never)
    dataset = open_dataset(folder)
    assert_right(EvaluationTask(dataset, until).history, dataset, until)
    if until != "test":
        past = Past.FROZEN_AT_TRAIN if until == "train" else Past.FROZEN_AT_VALID
        assert_right(EvaluationTask(dataset, "test", Protocol(past=past)).history, dataset, until)


@pytest.mark.parametrize(("until", "num_facts"), [("train", 400), ("valid", 500)])
def test_the_index_of_a_part_has_no_fact_of_a_later_split(folder: Path, until: str, num_facts: int, capsys):
    _ = history_of(open_dataset(folder)).pair_index
    capsys.readouterr()
    for message in (f"indexing {num_facts} facts; the index is kept in {folder / 'index'}", ""):
        dataset = open_dataset(folder)
        history = history_of(dataset, until)
        assert history.num_edges == 2 * num_facts
        assert history.last_time == int(dataset.splits[until].time.max()) < int(dataset.test.time.max())
        assert_right(history, dataset, until)
        assert capsys.readouterr().err.startswith(message)
    assert_right(history_of(open_dataset(folder)), open_dataset(folder))


PLACES = {"train": "index/train", "valid": "index/train+valid", "test": "index"}


@pytest.mark.parametrize("until", SPLITS)
@pytest.mark.parametrize("other", SPLITS)
def test_an_index_of_other_splits_is_replaced(folder: Path, until: str, other: str, monkeypatch: pytest.MonkeyPatch):
    _ = history_of(open_dataset(folder), other).pair_index
    for part in ("history", "pairs"):
        if other != until:
            shutil.copytree(folder / PLACES[other] / part, folder / PLACES[until] / part)
    if other == until:
        monkeypatch.setattr(stored_history, "write_columns", never)
    assert_right(history_of(open_dataset(folder), until), open_dataset(folder), until)


def test_each_part_is_stored_if_it_is_large_itself(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stored_history, "MIN_FACTS", 450)
    for until in SPLITS:
        assert_right(history_of(open_dataset(folder), until), open_dataset(folder), until)
    assert not (folder / "index" / "train").exists()
    assert sorted(path.name for path in (folder / "index" / "train+valid").iterdir()) == [".lock", "history", "pairs"]
    assert (folder / "index" / "pairs").exists()


def test_without_later_facts_the_index_is_that_of_all_facts(folder: Path, monkeypatch: pytest.MonkeyPatch):
    dataset = open_dataset(folder)
    parts = (dataset.facts, Facts.empty(), Facts.empty())
    save_dataset(Dataset("one split", dataset.vocabulary, dataset.axis, *parts), folder, overwrite=True)
    assert_right(history_of(open_dataset(folder)), open_dataset(folder))
    assert (folder / "index" / "pairs").is_dir()
    monkeypatch.setattr(stored_history, "write_columns", never)
    for until in SPLITS:
        assert_right(history_of(open_dataset(folder), until), open_dataset(folder), until)


def test_a_history_with_more_facts_does_not_use_the_stored_index(folder: Path):
    history = history_of(open_dataset(folder))
    more = Facts.from_rows([(0, 0, 1, 50)])
    expected = PairIndex(History(Facts.concatenate(open_dataset(folder).facts, more), history.vocabulary))
    for base in (history, history.without(more)):
        for name, column in base.including(more).pair_index.columns.items():
            assert torch.equal(column, expected.columns[name]), name
        _ = history.pair_index


def test_a_stored_index_that_is_not_open_is_updated_with_other_facts(folder: Path, monkeypatch: pytest.MonkeyPatch):
    dataset, more = open_dataset(folder), Facts.from_rows([(0, 0, 1, 50)])
    later = Facts.from_rows([(2, 1, 0, 51)])
    expected = PairIndex(History(Facts.concatenate(dataset.facts, more, later), dataset.vocabulary))
    monkeypatch.setattr(history_module, "UPDATE_COST", -1_000_000)  # updating is always cheaper
    monkeypatch.setattr(PairIndex, "__init__", never)
    for _ in range(2):  # the first time, the index is stored before it is updated
        history = history_of(open_dataset(folder)).including(more).including(later)
        for name, column in history.pair_index.columns.items():
            assert torch.equal(column, expected.columns[name]), name
        monkeypatch.setattr(stored_history, "write_columns", never)


def test_without_a_stored_index_that_of_other_facts_is_built(folder: Path, monkeypatch: pytest.MonkeyPatch):
    history, more = history_of(open_dataset(folder)), Facts.from_rows([(0, 0, 1, 50)])
    monkeypatch.setattr(history_module, "UPDATE_COST", -1_000_000)
    monkeypatch.setattr(stored_history, "MAX_BYTES_PER_FACT", 1 << 60)
    changed = history.including(more)
    expected = PairIndex(History(Facts.concatenate(open_dataset(folder).facts, more), history.vocabulary))
    for name, column in changed.pair_index.columns.items():
        assert torch.equal(column, expected.columns[name]), name


def test_changes_in_memory_are_not_written_back(folder: Path):
    history = history_of(open_dataset(folder))
    _ = history.pair_index
    files = {path: path.read_bytes() for path in (folder / "index").rglob("*.bin")}
    history.pair_index.series.counts.zero_()
    history.key.zero_()
    assert {path.name for path in files} >= {"key.bin", "series_counts.bin"}
    assert {path: path.read_bytes() for path in files} == files
    assert_right(history_of(open_dataset(folder)), open_dataset(folder))


@pytest.mark.parametrize("part", ["history", "pairs"])
@pytest.mark.parametrize(
    "damage", ["flip", "swap words", "swap pages", "truncate", "remove", "manifest", "version", "no manifest"]
)
def test_a_damaged_index_is_replaced(folder: Path, part: str, damage: str):
    _ = history_of(open_dataset(folder)).pair_index
    column = folder / "index" / part / ("key.bin" if part == "history" else "series_counts.bin")
    manifest = column.with_name("columns.json")
    content = bytearray(column.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 4
        column.write_bytes(content)
    elif damage.startswith("swap"):
        size = 8 if damage == "swap words" else 4096
        other = next(i for i in range(size, len(content), size) if content[i : i + size] != content[:size])
        content[:size], content[other : other + size] = content[other : other + size], content[:size]
        column.write_bytes(content)
    elif damage == "truncate":
        column.write_bytes(content[:-8])
    elif damage == "remove":
        column.unlink()
    elif damage == "manifest":
        manifest.write_text(manifest.read_text().replace('"first_time": 0', '"first_time": 1')[:-9])
    elif damage == "version":
        stored = json.loads(manifest.read_text())
        manifest.write_text(json.dumps({**stored, "format": stored["format"] + 1}))
    else:
        manifest.unlink()
    assert open_columns(column.parent, open_dataset(folder).checksum) is None
    assert_right(history_of(open_dataset(folder)), open_dataset(folder))
    assert open_columns(column.parent, open_dataset(folder).checksum) is not None


def test_an_index_of_other_facts_is_replaced(folder: Path, tmp_path: Path):
    _ = history_of(open_dataset(folder)).pair_index
    save(tmp_path / "other", seed=1)
    (folder / "index").rename(tmp_path / "other" / "index")
    assert_right(history_of(open_dataset(tmp_path / "other")), open_dataset(tmp_path / "other"))


def test_an_index_that_cannot_be_beside_the_facts_is_in_the_cache(folder: Path, tmp_path: Path):
    (folder / "index").write_text("a file, where a folder would have to be")
    assert_right(history_of(open_dataset(folder)), open_dataset(folder))
    (cached,) = (tmp_path / "cache" / "index").iterdir()
    assert cached.name == open_dataset(folder).checksum[:32]
    assert_right(history_of(open_dataset(folder), "train"), open_dataset(folder), "train")
    assert (cached / "train" / "pairs").is_dir()
    assert_right(history_of(open_dataset(folder)), open_dataset(folder))


def test_without_space_the_index_is_built_in_memory(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(stored_history, "MAX_BYTES_PER_FACT", 1 << 60)
    assert_right(history_of(open_dataset(folder)), open_dataset(folder))
    assert "cannot be stored, and is built in memory" in capsys.readouterr().err
    assert not list((folder / "index").glob("*/columns.json"))


@pytest.mark.parametrize("value", ["off", "OFF"])
def test_a_variable_switches_stored_indexes_off(folder: Path, value: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TITER_INDEX", value)
    assert_right(history_of(open_dataset(folder)), open_dataset(folder))
    assert not (folder / "index").exists()


def test_another_value_of_the_variable_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TITER_INDEX", "of")
    with pytest.raises(ConfigError, match="TITER_INDEX must be off or always, not 'of'"):
        history_of(open_dataset(folder))


def test_small_datasets_and_those_in_memory_store_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch):
    dataset = open_dataset(folder)
    copy = Dataset("copy", dataset.vocabulary, dataset.axis, dataset.train, dataset.valid, dataset.test)
    assert_right(history_of(copy), copy)
    monkeypatch.setattr(stored_history, "MIN_FACTS", 601)
    assert_right(history_of(dataset), dataset)
    assert not (folder / "index").exists()


USE = """
import sys
from titer.data.dataset_folder import open_dataset
from titer.graph import history as history_module
from titer.graph import stored_history
from pathlib import Path
stored_history.MIN_FACTS = 100
history = stored_history.history_of(open_dataset(Path(sys.argv[1])), sys.argv[2])
print(history.num_edges, int(history.key.sum()), float(history.pair_index.series.counts.sum()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("until", [("test",) * 3, ("train",) * 3, ("train", "valid", "train")])
def test_of_several_processes_one_builds_the_index(folder: Path, until: tuple[str, ...]):
    running = [WarmProcess("-c", USE, folder, one, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for one in until]
    results = [process.communicate(timeout=120) for process in running]
    assert all(process.returncode == 0 for process in running)
    assert len({printed for printed, _ in results}) == len(set(until))
    # The history and the pairs of each part.
    assert sum(messages.count("indexing") for _, messages in results) == 2 * len(set(until))


@pytest.mark.parametrize("fails", [OSError("disk full"), KeyboardInterrupt()])
def test_an_interrupted_index_leaves_no_files(tmp_path: Path, fails: BaseException):
    def make(append):
        append("key", np.arange(5))
        raise fails

    with pytest.raises(type(fails)):
        write_columns(tmp_path / "part", "source", make)
    assert list(tmp_path.iterdir()) == []


@given(st.binary(max_size=40), st.data())
def test_a_checksum_changes_with_any_byte_and_with_the_length(content: bytes, data: st.DataObject):
    column = np.frombuffer(content, dtype=np.uint8)
    assert checksum(column) != checksum(np.append(column, np.uint8(0)))
    if content:
        place, bit = data.draw(st.integers(0, len(content) - 1)), data.draw(st.integers(0, 7))
        changed = column.copy()
        changed[place] ^= 1 << bit
        assert checksum(changed) != checksum(column)


@pytest.fixture(scope="module")
def numbers() -> np.ndarray:
    """A column of small numbers, more than a checksum adds up at a time."""
    return np.random.default_rng(0).integers(0, 4, 2 * PAGE * PAGES_AT_ONCE + 100, dtype=np.uint64)


@given(data=st.data(), length=st.sampled_from([1, PAGE // 8, PAGE]))
def test_a_checksum_changes_if_words_sectors_or_pages_are_swapped(
    numbers: np.ndarray, data: st.DataObject, length: int
):
    first = data.draw(st.integers(0, len(numbers) // length - 1))
    distance = data.draw(st.one_of(st.integers(1, PAGE), st.integers(1, len(numbers))))
    second = (first + distance) % (len(numbers) // length)
    one, other = (slice(i * length, (i + 1) * length) for i in (first, second))
    swapped = numbers.copy()
    swapped[one], swapped[other] = numbers[other], numbers[one]
    assert (checksum(swapped) == checksum(numbers)) == np.array_equal(swapped, numbers)


@pytest.mark.parametrize("place", [1, PAGE - 1, PAGE, PAGE + 1, PAGE * PAGES_AT_ONCE])
def test_a_checksum_changes_if_words_are_swapped_that_only_differ_in_one_bit(place: int):
    for bit in range(64):
        column, swapped = np.zeros((2, PAGE * (PAGES_AT_ONCE + 1)), dtype=np.uint64)
        column[0] = swapped[place] = 1 << bit
        assert checksum(swapped) != checksum(column)


def test_an_index_is_stored_without_the_package_that_knows_the_cache_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("TITER_CACHE", raising=False)
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    _ = history_of(open_dataset(folder)).pair_index
    assert (folder / "index" / "pairs").is_dir()
