"""Datasets by whatever they are called."""

from pathlib import Path

import pytest

from titer.data.dataset_folder import save_dataset
from titer.data.load import load_dataset
from titer.errors import DataError, UnknownNameError


def test_a_stored_dataset_is_found_by_itself_and_within_a_run(tmp_path: Path):
    world = load_dataset("small-world")
    save_dataset(world, tmp_path / "run" / "dataset")
    assert load_dataset(tmp_path / "run" / "dataset").checksum == world.checksum
    assert load_dataset(str(tmp_path / "run")).checksum == world.checksum


def test_a_benchmark_that_is_not_here_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TITER_CACHE", str(tmp_path))
    with pytest.raises(DataError, match="titer data download ICEWS14"):
        load_dataset("icews14")


def test_a_name_that_nothing_has_gets_a_suggestion():
    with pytest.raises(UnknownNameError) as caught:
        load_dataset("smal-world")
    assert caught.value.suggestions == ["small-world"]


def test_a_file_is_sent_to_import(tmp_path: Path):
    (tmp_path / "facts.csv").write_text("subject,relation,object,time\n")
    with pytest.raises(DataError, match="titer data import"):
        load_dataset(tmp_path / "facts.csv")


def test_a_folder_of_something_else_is_refused(tmp_path: Path):
    with pytest.raises(DataError, match="holds neither a stored dataset nor"):
        load_dataset(tmp_path)
