"""What is acknowledged is on disk: file contents and folder entries, in the order of the system calls."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from files.system_calls import Disk, strace
from service.process import Service

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace"),
    pytest.mark.xdist_group("service processes"),
]
FACTS = "subject,relation,object,time\n" + "".join(f"Ada,visit,Ben,2024-01-{day:02}\n" for day in range(1, 29))


def record(folder: Path, *words: str | Path) -> Disk:
    """Run a command of titer, and return the state of the disk at its end."""
    trace = folder / "trace"
    command = [*strace(trace), sys.executable, "-m", "titer", *map(str, words)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=250)
    if "ptrace" in done.stderr.lower():
        pytest.skip("processes cannot be traced here")
    assert done.returncode == 0, done.stderr
    disk = Disk(folder)
    disk.follow(trace.read_text(errors="replace"))
    return disk


def lost(disk: Disk, target: Path) -> list[str]:
    """Return the files of a target, and the folders on the way to them, that a power cut could destroy."""
    # The log for TensorBoard is written by another package, and is not needed to use a run.
    needed = {target.resolve(), *target.resolve().parents, *target.resolve().rglob("*")}
    return sorted(path for path in disk.unsynced if Path(path) in needed and "tensorboard" not in path)


def test_an_imported_dataset_is_on_disk_when_the_command_ends(tmp_path: Path):
    (tmp_path / "facts.csv").write_text(FACTS + "Ada,visit,Ben,soon\n")
    out = tmp_path / "new" / "folder" / "data"
    disk = record(tmp_path, "data", "import", tmp_path / "facts.csv", "--out", out, "--bad-rows", "skip")
    assert lost(disk, out) == []
    assert lost(disk, out.with_name("data.rejected.csv")) == []


def test_a_finished_run_is_on_disk_when_the_command_ends(tmp_path: Path):
    out = tmp_path / "new" / "run"
    words = ("train", "small-world", "--model", "recurrency", "--out", out)
    assert lost(record(tmp_path, *words), out) == []
    assert lost(record(tmp_path, *words, "--overwrite"), out) == []
    assert (out / "model.safetensors").is_file()


def test_added_facts_are_on_disk_when_the_service_confirms_them(
    recurrency_run: Path, run_copy: Callable[[Path], Path], tmp_path: Path
):
    run, trace = run_copy(recurrency_run), tmp_path / "trace"
    service = Service(run, wrapper=strace(trace), TITER_TOKEN="secret")
    try:
        fact = {"subject": "Aldoria", "relation": "invite", "object": "Newland", "time": "2023-07-01"}
        with service.client("secret") as client:
            assert client.post("/v1/facts", json={"facts": [fact]}).json()["added"] == 1
    finally:
        service.stop()
    disk = Disk(tmp_path)
    disk.follow(trace.read_text(errors="replace"), until='"HTTP/1.1 200')
    # The index of the log in shared memory is rebuilt from the log.
    stored = [path for path in run.iterdir() if path.name.startswith("facts.db") and not path.name.endswith("-shm")]
    assert stored
    assert [path for name in stored for path in lost(disk, name)] == []


def test_a_write_that_is_not_synced_is_found(tmp_path: Path):
    """Fails if the recording is not understood, so that the tests above would find nothing."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys\nos.mkdir('folder')\nhandle = os.open('folder/file', os.O_CREAT | os.O_WRONLY)\n"
        "os.write(handle, b'x')\n"
        "if 'file' in sys.argv: os.fsync(handle)\n"
        "if 'folder' in sys.argv: os.fsync(os.open('folder', os.O_RDONLY)); os.fsync(os.open('.', os.O_RDONLY))\n"
    )
    found: dict[str, list[str]] = {}
    for words in ((), ("file",), ("file", "folder")):
        shutil.rmtree(tmp_path / "folder", ignore_errors=True)
        trace = tmp_path / "trace"
        subprocess.run([*strace(trace), sys.executable, str(script), *words], cwd=tmp_path, check=True, env=os.environ)
        disk = Disk(tmp_path)
        disk.follow(trace.read_text())
        found[" ".join(words)] = [os.path.relpath(path, tmp_path) for path in lost(disk, tmp_path / "folder" / "file")]
    assert found == {"": [".", "folder", "folder/file"], "file": [".", "folder"], "file folder": []}
