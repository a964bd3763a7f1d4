"""Atomic writes, and what killed writers leave behind."""

import errno
import os
from pathlib import Path

import pytest

from titer.errors import TiterError
from titer.files import atomic_directory, atomic_path, exchange, is_leftover, remove_leftovers, write_text
from titer.files.locks import try_lock


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_leftovers_of_killed_writers_are_removed_by_the_next_write(tmp_path: Path):
    (tmp_path / ".data.abcd1234.part").mkdir()
    (tmp_path / ".notes.txt.abcd1234.part").touch()
    (tmp_path / ".other.abcd1234.part").touch()
    write_text(tmp_path / "notes.txt", "new")
    with atomic_directory(tmp_path / "data") as folder:
        (folder / "file").touch()
    assert names(tmp_path) == {"notes.txt", "data", ".other.abcd1234.part"}
    remove_leftovers(tmp_path)
    assert names(tmp_path) == {"notes.txt", "data"}


def test_a_temporary_file_in_use_is_not_removed(tmp_path: Path):
    with atomic_path(tmp_path / "notes.txt") as temporary:
        temporary.write_text("half")
        remove_leftovers(tmp_path)
        assert is_leftover(temporary)
        temporary.write_text("whole")
    assert (tmp_path / "notes.txt").read_text() == "whole"


@pytest.mark.parametrize("name", ["notes.txt", ".hidden", ".notes.part", ".notes.ABC.part", "notes.abcd1234.part"])
def test_files_of_the_user_are_no_leftovers(tmp_path: Path, name: str):
    (tmp_path / name).touch()
    remove_leftovers(tmp_path)
    assert names(tmp_path) == {name}


@pytest.mark.parametrize("in_one_step", [True, False])
def test_a_folder_is_replaced_whole(tmp_path: Path, in_one_step: bool, monkeypatch: pytest.MonkeyPatch):
    if not in_one_step:  # as on systems without such an operation
        monkeypatch.setattr("titer.files.exchange.exchange", lambda first, second: False)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "old").touch()
    with atomic_directory(tmp_path / "data", overwrite=True) as folder:
        (folder / "new").touch()
        assert names(tmp_path / "data") == {"old"}
    assert names(tmp_path / "data") == {"new"}
    assert names(tmp_path) == {"data"}


def test_a_folder_that_was_moved_away_by_a_killed_process_is_put_back(tmp_path: Path):
    away = tmp_path / ".data.abcd1234.old" / "data"
    away.mkdir(parents=True)
    (away / "old").touch()
    with pytest.raises(TiterError, match="already exists"), atomic_directory(tmp_path / "data"):
        pass
    assert names(tmp_path / "data") == {"old"}


def test_two_folders_are_exchanged(tmp_path: Path):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if exchange.exchange(tmp_path / "first", tmp_path / "second"):
        assert (names(tmp_path / "first"), names(tmp_path / "second")) == ({"second"}, {"first"})


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), OSError("disk trouble")])
def test_an_error_of_the_disk_names_the_file_and_leaves_the_old_one(tmp_path: Path, error: OSError):
    write_text(tmp_path / "notes.txt", "old")

    def write() -> None:
        with atomic_path(tmp_path / "notes.txt") as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(OSError, match=r"notes\.txt") as raised:
        write()
    assert raised.value.filename == str(tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "old"
    assert names(tmp_path) == {"notes.txt"}


def test_a_full_disk_while_weights_are_written_is_one_line(tmp_path: Path):
    import torch

    from titer.files.tensors import save_tensors

    limit = 4096
    child = os.fork()
    if child == 0:
        import resource
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            save_tensors(tmp_path / "model.safetensors", {"weight": torch.zeros(100_000)}, {})
        except OSError as error:
            os._exit(0 if error.filename == str(tmp_path / "model.safetensors") else 2)
        except BaseException:  # noqa: BLE001
            os._exit(3)
        os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert names(tmp_path) == set()


def test_try_lock_is_exclusive_between_descriptors(tmp_path: Path):
    (tmp_path / "file").touch()
    first, second = (os.open(tmp_path / "file", os.O_RDONLY) for _ in range(2))
    assert try_lock(first)
    assert not try_lock(second)
    os.close(first)
    assert try_lock(second)
    os.close(second)
