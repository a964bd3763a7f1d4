"""A run that is being overwritten is the old one or the new one, whenever the process is killed."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from campaigns.forked import Operations, in_fork
from titer.files import write_text
from titer.files.exchange import replace_folder
from titer.runs.overwriting import STAGED
from titer.runs.place import training_place

CONFIG = "[model]\n[training]\n"


def write_run(path: Path, content: str) -> None:
    (path / "README.md").parent.mkdir(parents=True, exist_ok=True)
    write_text(path / "config.toml", CONFIG)
    write_text(path / "model.safetensors", content)
    write_text(path / "training.json", content)


def train(out: Path, *, overwrite: bool = False, resume: bool = False) -> None:
    """Write files as a training does, in a run that is complete at the end."""
    with training_place(out, overwrite=overwrite, resume=resume) as place:
        write_run(place, "new")


def killed(out: Path, output: Path, point: int | None) -> tuple[int, int]:
    """Overwrite a run in a process that is killed before an operation; return its exit code, and the operations."""

    def work() -> None:
        import sys

        operations = Operations(out.parent, point)
        sys.addaudithook(operations)
        train(out, overwrite=True)
        os.write(1, str(operations.count).encode())  # pytest replaces sys.stdout

    code = in_fork(work, output)
    return code, int(output.read_text() or 0) if code == 0 else 0


def contents(run: Path) -> set[str]:
    return {(run / name).read_text() for name in ("model.safetensors", "training.json")}


@pytest.mark.slow
def test_the_old_run_is_there_until_the_new_one_is_complete(tmp_path: Path):
    output = tmp_path / "output"
    write_run(tmp_path / "0" / "run", "old")
    code, total = killed(tmp_path / "0" / "run", output, None)
    assert (code, contents(tmp_path / "0" / "run")) == (0, {"new"})
    assert total > 20
    seen = set()
    for point in range(1, total + 1):
        run = tmp_path / str(point) / "run"
        write_run(run, "old")
        assert killed(run, output, point)[0] == -9
        assert contents(run) in ({"old"}, {"new"}), point
        seen |= contents(run)
        # The next command completes the new run, and leaves nothing else behind.
        train(run, overwrite=point % 2 == 0, resume=point % 2 == 1)
        assert contents(run) == {"new"}, point
        assert [path.name for path in run.parent.iterdir()] == ["run"], point
        assert not (run / STAGED).exists()
    assert seen == {"old", "new"}


def test_a_training_that_fails_leaves_the_old_run(tmp_path: Path):
    write_run(tmp_path / "run", "old")
    try:
        with training_place(tmp_path / "run", overwrite=True, resume=False):
            raise ValueError
    except ValueError:
        pass
    assert contents(tmp_path / "run") == {"old"}
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_no_fact_can_be_added_while_the_run_is_replaced(tmp_path: Path, monkeypatch):
    run, tried = tmp_path / "run", []
    write_run(run, "old")
    with closing(sqlite3.connect(run / "facts.db", timeout=0, isolation_level=None)) as service:
        service.execute("PRAGMA journal_mode = WAL")
        service.execute("CREATE TABLE titer_store (last_sequence INTEGER)")
        service.execute("INSERT INTO titer_store VALUES (0)")

        def replace_with_a_writer(new: Path, target: Path) -> None:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                service.execute("UPDATE titer_store SET last_sequence = 1")
            tried.append(replace_folder(new, target))

        monkeypatch.setattr("titer.runs.place.replace_folder", replace_with_a_writer)
        train(run, overwrite=True)
    assert tried
    assert contents(run) == {"new"}
    assert not list(run.glob("facts.db*"))
