"""The commit in a result file is that of the sources that ran."""

import subprocess
from pathlib import Path

import pytest
import torch

from titer.counted import counted
from titer.runs.provenance import hardware, provenance, source


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    done = subprocess.run(["git", "-C", folder, *identity, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package in a repository with one commit."""
    monkeypatch.delenv("TITER_COMMIT", raising=False)
    folder = tmp_path / "src" / "package"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "First")
    return folder


def test_the_commit_of_unchanged_sources_is_known(package: Path):
    assert source(package) == (git(package, "rev-parse", "HEAD"), False)


def test_files_outside_of_the_package_do_not_count_as_changes(package: Path):
    (package.parents[1] / "result.json").write_text("{}")
    assert source(package)[1] is False


@pytest.mark.parametrize("name", ["__init__.py", "added.py"])
def test_changed_and_added_sources_count_as_changes(package: Path, name: str):
    (package / name).write_text("changed = True")
    assert source(package) == (git(package, "rev-parse", "HEAD"), True)


def test_changes_after_a_process_has_loaded_its_sources_do_not_count(package: Path):
    loaded = source(package)
    (package / "added.py").write_text("changed = True")
    git(package, "add", ".")
    git(package, "commit", "--quiet", "-m", "Second")
    assert source(package) == loaded


def test_a_package_that_its_repository_does_not_track_has_no_commit(package: Path):
    """A wheel that is installed in an environment inside of some other repository."""
    installed = package.parent / "installed"
    installed.mkdir()
    (installed / "__init__.py").write_text("")
    assert source(installed) == ("unknown", None)


def test_a_copy_without_a_repository_takes_its_commit_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.delenv("TITER_COMMIT", raising=False)
    assert source(tmp_path) == ("unknown", None)
    monkeypatch.setenv("TITER_COMMIT", "0123abc")
    assert source(tmp_path) == ("0123abc", None)


def test_without_git_the_commit_is_unknown(package: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    assert source(package) == ("unknown", None)


def test_everything_that_affects_a_result_is_named():
    found = provenance(torch.device("cpu"))
    assert set(found) == {"date", "commit", "modified", "hardware", "versions"}
    assert found["hardware"].endswith(f", {counted(torch.get_num_threads(), 'thread')}")
    # The wheels of PyPI name their build, such as +cu130, in torch itself and not in their metadata.
    assert found["versions"]["torch"].partition("+")[0] == torch.__version__.partition("+")[0]


@pytest.mark.parametrize(("number", "words"), [(1, "CPU, 1 thread"), (2, "CPU, 2 threads")])
def test_threads_are_counted_in_words(monkeypatch: pytest.MonkeyPatch, number: int, words: str):
    monkeypatch.setattr(torch, "get_num_threads", lambda: number)
    assert hardware(torch.device("cpu")).endswith(words)
