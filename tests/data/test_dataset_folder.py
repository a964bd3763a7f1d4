"""Dataset folders: memory-mapped, checked, and written completely or not at all."""

import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import Graph, graphs
from titer.data.dataset import Dataset
from titer.data.dataset_folder import DESCRIPTION, is_stored_dataset, open_dataset, save_dataset
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError, TiterError
from titer.toml import to_toml

FILES = ("train.feather", "valid.feather", "test.feather", "entities.feather", "relations.feather", DESCRIPTION)


def toy(last_entity: str = "Cleo", name: str = "toy") -> Dataset:
    return Dataset(
        name,
        Vocabulary(["Ada", "Ben", last_entity], ["visit"]),
        TimeAxis(TimeUnit.DAY, "2018-10-01"),
        Facts.from_rows([(0, 0, 1, 0), (1, 0, 2, 1)]),
        Facts.from_rows([(2, 0, 0, 2)]),
        Facts.empty(),
    )


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store") / "toy"
    save_dataset(toy(), folder)
    return folder


def assert_same(found: Dataset, expected: Dataset) -> None:
    assert found.splits == expected.splits
    assert found.vocabulary == expected.vocabulary
    assert (found.name, found.axis, found.checksum) == (expected.name, expected.axis, expected.checksum)


@settings(max_examples=25)
@given(graph=graphs(), names=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=6, max_size=6))
def test_a_saved_dataset_is_opened_unchanged(graph: Graph, names: list[str]):
    train = Facts.concatenate(graph.facts, Facts.from_rows([(0, 0, 0, 0)]))
    vocabulary = Vocabulary(names, ["r", "s", names[0]])
    dataset = Dataset(names[-1], vocabulary, TimeAxis(TimeUnit.INTEGER, -7, 3), train, graph.facts, Facts.empty())
    with TemporaryDirectory() as folder:
        save_dataset(dataset, Path(folder, "stored"))
        found = open_dataset(Path(folder, "stored"))
        assert_same(found, dataset)
        del found.__dict__["checksum"]
        assert found.checksum == dataset.checksum


def test_a_dataset_folder_has_feather_files_and_a_description(stored: Path):
    assert sorted(path.name for path in stored.iterdir()) == sorted(FILES)
    description = tomllib.loads((stored / DESCRIPTION).read_text())
    assert description["checksum"] == toy().checksum
    assert description["time"] == {"unit": "day", "origin": "2018-10-01", "stride": 1}
    assert set(description["sha256"]) == {*FILES} - {DESCRIPTION}


def test_facts_are_memory_mapped(tmp_path: Path):
    rows = [(i % 3, 0, 1, i) for i in range(50_000)]
    train, nothing = Facts.from_rows(rows), Facts.empty()
    save_dataset(Dataset("toy", Vocabulary.numbered(3, 1), TimeAxis(), train, nothing, nothing), tmp_path / "large")
    before = pa.total_allocated_bytes()
    dataset = open_dataset(tmp_path / "large")
    assert pa.total_allocated_bytes() - before < 10_000
    for column in dataset.train.columns:
        assert not column.flags.owndata
        assert not column.flags.writeable
    assert dataset.train == train


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_anywhere_is_detected(tmp_path: Path, name: str):
    save_dataset(toy(), tmp_path / "toy")
    path = tmp_path / "toy" / name
    whole = path.read_bytes()
    for position in range(0, len(whole), 1 if name == DESCRIPTION else 17):
        flipped = bytearray(whole)
        flipped[position] ^= 1 << position % 8
        path.write_bytes(flipped)
        with pytest.raises(DataError, match=r"is damaged|is not a readable dataset|has format"):
            open_dataset(tmp_path / "toy")
    path.write_bytes(whole)
    assert open_dataset(tmp_path / "toy").checksum == toy().checksum


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_reported(tmp_path: Path, name: str):
    save_dataset(toy(), tmp_path / "toy")
    (tmp_path / "toy" / name).unlink()
    with pytest.raises(DataError, match="is not a readable dataset"):
        open_dataset(tmp_path / "toy")


def test_a_newer_format_is_rejected(tmp_path: Path):
    save_dataset(toy(), tmp_path / "toy")
    path = tmp_path / "toy" / DESCRIPTION
    path.write_text(path.read_text().replace("format = 1", "format = 2"))
    with pytest.raises(DataError, match="has format 2, but this version of titer reads format 1"):
        open_dataset(tmp_path / "toy")


def test_an_existing_dataset_is_replaced_only_with_overwrite(tmp_path: Path):
    save_dataset(toy(), tmp_path / "toy")
    with pytest.raises(TiterError, match="already exists"):
        save_dataset(toy(name="another"), tmp_path / "toy")
    assert open_dataset(tmp_path / "toy").name == "toy"
    save_dataset(toy(name="another"), tmp_path / "toy", overwrite=True)
    assert open_dataset(tmp_path / "toy").name == "another"
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]


def test_an_error_while_saving_leaves_nothing(tmp_path: Path):
    lone_surrogate = "\ud800"  # Arrow rejects it, after the facts have been written
    with pytest.raises(UnicodeEncodeError):
        save_dataset(toy(lone_surrogate), tmp_path / "toy")
    assert list(tmp_path.iterdir()) == []


def test_an_error_while_overwriting_leaves_the_old_dataset(tmp_path: Path):
    save_dataset(toy(), tmp_path / "toy")
    with pytest.raises(UnicodeEncodeError):
        save_dataset(toy("\ud800"), tmp_path / "toy", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]
    assert_same(open_dataset(tmp_path / "toy"), toy())


def test_the_old_dataset_is_complete_until_it_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    target = tmp_path / "toy"
    save_dataset(toy(), target)
    names_while_writing = []
    original = Dataset.checksum.func

    def checksum(dataset: Dataset) -> str:
        names_while_writing.append(open_dataset(target).name)
        return original(dataset)

    monkeypatch.setattr(Dataset, "checksum", property(checksum))
    save_dataset(toy(name="another"), target, overwrite=True)
    assert names_while_writing == ["toy"]
    assert open_dataset(target).name == "another"


def test_an_old_dataset_can_still_be_used_after_it_was_overwritten(tmp_path: Path):
    save_dataset(toy(), tmp_path / "toy")
    old = open_dataset(tmp_path / "toy")
    save_dataset(toy(name="another"), tmp_path / "toy", overwrite=True)
    assert list(old.train) == list(toy().train)


def test_only_a_folder_with_a_description_is_a_dataset_folder(stored: Path, tmp_path: Path):
    assert is_stored_dataset(stored)
    assert not is_stored_dataset(tmp_path)


texts = st.text(st.characters(exclude_categories=["Cs"]))
scalars = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | texts


@given(
    table=st.recursive(
        st.dictionaries(texts, scalars | st.lists(scalars, max_size=3), max_size=4),
        lambda tables: st.dictionaries(texts, tables | scalars, max_size=3),
        max_leaves=6,
    )
)
def test_written_toml_is_read_unchanged(table: dict[str, object]):
    assert tomllib.loads(to_toml(table)) == table
