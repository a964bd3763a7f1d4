"""Datasets by path and by name."""

from pathlib import Path

import pytest

from titer.data.dataset_folder import save_dataset
from titer.data.load import load_dataset
from titer.errors import DataError, UnknownNameError


def test_a_dataset_folder_is_loaded_by_its_path_and_by_that_of_its_run(tmp_path: Path):
    world = load_dataset("small-world")
    save_dataset(world, tmp_path / "run" / "dataset")
    assert load_dataset(tmp_path / "run" / "dataset").checksum == world.checksum
    assert load_dataset(str(tmp_path / "run")).checksum == world.checksum


def test_the_error_for_a_missing_benchmark_has_the_download_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TITER_CACHE", str(tmp_path))
    with pytest.raises(DataError, match="titer data download ICEWS14"):
        load_dataset("icews14")


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(UnknownNameError) as caught:
        load_dataset("smal-world")
    assert caught.value.suggestions == ["small-world"]


def test_the_error_for_a_file_has_the_import_command(tmp_path: Path):
    (tmp_path / "facts.csv").write_text("subject,relation,object,time\n")
    with pytest.raises(DataError, match="titer data import"):
        load_dataset(tmp_path / "facts.csv")


def test_a_folder_without_a_dataset_is_rejected(tmp_path: Path):
    with pytest.raises(DataError, match="has neither a dataset"):
        load_dataset(tmp_path)
