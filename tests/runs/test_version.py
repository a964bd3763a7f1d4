"""Versions of runs, and weights that are mapped from their file."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from titer.errors import RunError
from titer.files import sha256_of
from titer.runs.run import Run
from titer.runs.version import FILES, RunVersion, signature_of
from titer.training.layout import MODEL


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    path.mkdir()
    for name in FILES:
        (path / name).write_text(name, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", FILES)
def test_a_version_depends_on_every_file_that_makes_it(folder: Path, name: str):
    before = RunVersion.of(folder)
    (folder / name).write_text("other", encoding="utf-8")
    after = RunVersion.of(folder)
    assert after.name != before.name
    assert after.signature != before.signature


def test_a_copy_is_the_same_version_in_other_files(folder: Path, tmp_path: Path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert RunVersion.of(copy).name == RunVersion.of(folder).name
    assert RunVersion.of(copy).trained == RunVersion.of(folder).trained
    assert signature_of(copy) != signature_of(folder)


def test_a_folder_without_weights_has_no_version(folder: Path):
    (folder / MODEL).unlink()
    with pytest.raises(RunError, match="is not a run with weights"):
        RunVersion.of(folder)


def test_a_run_knows_that_it_was_replaced(folder: Path, tmp_path: Path):
    run = Run(folder)
    assert not run.is_replaced
    new = shutil.copytree(folder, tmp_path / "new")
    folder.rename(tmp_path / "old")
    assert run.is_replaced  # no run is there
    new.rename(folder)
    assert run.is_replaced
    assert not Run(folder).is_replaced


@pytest.mark.slow
def test_changed_weights_of_a_loaded_model_are_not_written_to_its_file(
    path_mixture_run: Path, run_copy: Callable[[Path], Path]
):
    run = Run(run_copy(path_mixture_run))
    before, (one, two) = sha256_of(run.path / MODEL), (run.load_model("cpu") for _ in range(2))
    with torch.no_grad():
        for parameter in one.parameters():
            parameter += 1
    assert sha256_of(run.path / MODEL) == before
    for changed, kept in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.allclose(changed, kept + 1)
        assert kept.requires_grad
