"""The copy of a run on nodes of a cluster that do not have it."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pytest

from commands import titer_process
from ray_cluster import RayCluster
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.jobs.begin import open_job
from titer.forecasting.jobs.fingerprint import facts_version, fingerprint
from titer.forecasting.jobs.folder import JobFolder
from titer.forecasting.jobs.job import Job
from titer.forecasting.jobs.tasks import AnswerTask
from titer.runs.run import Run
from titer.store.facts import FactStore, NamedFact
from titer.threads import THREADS_VARIABLE

if TYPE_CHECKING:
    import ray
    from titer.ray.node import NodeRun

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]

WORKERS = """
import os, sys, pyarrow as pa, ray
from titer.ray import Predictor
from titer.ray.node import NodeRun, pack
from titer.forecasting.jobs.fingerprint import facts_version, fingerprint
from titer.runs.run import Run
run = Run(sys.argv[1])
variables = {name: os.environ[name] for name in ("TITER_CACHE", "TITER_INDEX")}
ray.init(address=sys.argv[2], log_to_driver=False, runtime_env={"env_vars": variables})
facts = facts_version(run.store_path, run.dataset)
node_run = NodeRun("/nowhere", fingerprint(run, events=False), False, facts, ray.put(pack(run)))

@ray.remote
class Worker:
    def open(self, given):
        path = given.open().path
        return str(path), (path / "model.safetensors").stat().st_ino

    def maps(self, run):
        predictor = Predictor(run, device="cpu", top=1)
        predictor(pa.table({"subject": ["Caldera"], "relation": ["invite"]}))
        with open("/proc/self/maps") as file:
            lines = [line.split() for line in file if "/index/" in line]
        return sorted({(line[4], line[5]) for line in lines})

workers = [Worker.remote() for _ in range(2)]
first, second = ray.get([worker.open.remote(node_run) for worker in workers])
assert first == second, (first, second)
print(first[0])
first, second = ray.get([worker.maps.remote(sys.argv[3]) for worker in workers])
assert first == second, (first, second)
print(*(path for _, path in first), sep="\\n")
"""


def test_workers_of_a_node_share_one_copy_and_the_memory_of_a_stored_index(
    cluster: RayCluster,
    recurrency_run: Path,
    run_copy: Callable[[Path], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    run = Run(run_copy(recurrency_run))
    with FactStore(run.store_path, run.dataset) as store:
        store.add([NamedFact("Caldera", "invite", "Newland", 181)])
    monkeypatch.setenv("TITER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TITER_INDEX", "always")
    indexed = shutil.copytree(recurrency_run, tmp_path / "indexed")
    done = titer_process("-c", WORKERS, run.path, cluster.address, indexed)
    assert done.returncode == 0, done.stderr
    path, *mapped = [Path(line) for line in done.stdout.splitlines() if line.startswith("/")]
    copy = Run(path)
    assert tmp_path / "cache" in copy.path.parents
    assert fingerprint(copy, events=False) == fingerprint(run, events=False)
    assert facts_version(copy.store_path, copy.dataset)[:2] == (1, 0)
    asked = "Caldera", "invite"
    assert Forecaster.load(copy).ask(*asked) == Forecaster.load(run).ask(*asked)
    stored = {file.resolve() for file in (indexed / "dataset/index").rglob("*.bin") if file.stat().st_size}
    assert len(set(mapped)) > 3
    assert set(mapped) <= stored


def test_a_run_with_other_contents_at_the_same_path_is_not_used(recurrency_run: Path, run_copy: Callable[[Path], Path]):
    from titer.errors import RunError
    from titer.ray.node import NodeRun

    path = run_copy(recurrency_run)
    given = NodeRun(str(path), fingerprint(Run(path), events=False), events=False, facts=(0, 0, ""))
    assert given.open().path == path
    (path / "training.json").write_text((path / "training.json").read_text() + " ")
    with pytest.raises(RunError, match="another run"):
        given.open()


@pytest.fixture
def two_runs(recurrency_run: Path, tmp_path: Path) -> tuple[Run, Run]:
    """Two runs that differ in nothing before facts are added to them."""
    first, second = (shutil.copytree(recurrency_run, tmp_path / name) for name in ("first", "second"))
    return Run(first), Run(second)


@pytest.fixture
def archive_is_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Let nodes get archives without a cluster, into an empty cache."""
    from titer.ray import node

    monkeypatch.setenv("TITER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(node.ray, "get", lambda archive: archive)
    monkeypatch.setattr(node, "_used", {})
    yield
    stop_using_copies()


def stop_using_copies() -> None:
    from titer.ray import node

    while node._used:
        os.close(node._used.popitem()[1])


def add_fact(run: Run, object: str) -> tuple[int, int, str]:
    with FactStore(run.store_path, run.dataset) as store:
        store.add([NamedFact("Caldera", "invite", object, 181)])
    return facts_version(run.store_path, run.dataset)


def sent(run: Run, path: str = "/nowhere") -> "NodeRun":
    """Return a run as the workers of a node get it."""
    from titer.ray.node import NodeRun, pack

    facts = facts_version(run.store_path, run.dataset)
    archive = cast("ray.ObjectRef[bytes]", pack(run))
    return NodeRun(path, fingerprint(run, events=False), events=False, facts=facts, archive=archive)


@pytest.mark.usefixtures("archive_is_bytes")
def test_a_copy_has_the_added_facts_of_its_job(two_runs: tuple[Run, Run]):
    first, second = two_runs
    copies = []
    for run, object in ((first, "Newland"), (second, "Otherland"), (first, "Thirdland")):
        facts = add_fact(run, object)
        copies.append(sent(run).open())
        assert Forecaster.load(copies[-1]).facts_version == facts
        assert object in Forecaster.load(copies[-1]).vocabulary.entities
    assert len({copy.path for copy in copies}) == 3
    assert all(copy.path.is_dir() for copy in copies), "copies that are in use stay"
    assert sent(second).open().path == copies[1].path
    stop_using_copies()
    newest = sent(first).open()
    assert newest.path == copies[2].path
    add_fact(second, "Fourthland")
    last = sent(second).open()
    assert {path for path in last.path.parent.iterdir() if path.is_dir()} == {newest.path, last.path}


@pytest.mark.usefixtures("archive_is_bytes")
def test_a_run_with_other_added_facts_at_the_same_path_is_not_used(two_runs: tuple[Run, Run]):
    run, other = two_runs
    facts = add_fact(run, "Newland")
    assert sent(run, str(run.path)).open().path == run.path
    add_fact(other, "Otherland")
    opened = sent(run, str(other.path)).open()
    assert opened.path != other.path
    assert facts_version(opened.store_path, opened.dataset) == facts


def test_a_worker_with_other_facts_than_the_job_answers_nothing(
    two_runs: tuple[Run, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from titer.ray.engine import PartitionWorker
    from titer.ray.node import NodeRun

    monkeypatch.setenv(THREADS_VARIABLE, "1")  # restored later: workers set it
    (tmp_path / "questions.csv").write_text("subject,relation\nCaldera,invite\n")
    run, other = two_runs
    facts = add_fact(run, "Newland")
    add_fact(other, "Otherland")
    job = open_job(JobFolder(str(tmp_path / "answers")), AnswerTask(), run, str(tmp_path / "questions.csv"))
    given = NodeRun(str(other.path), fingerprint(run, events=False), events=False, facts=facts)
    for store, message in ((None, "facts were added or removed"), (f"sqlite:///{other.store_path}", "other facts on")):
        worker = PartitionWorker(job, given, "cpu", store, threads=1)
        (error,) = worker({"partition": np.array([0])})["error"]
        assert message in error
    assert list((tmp_path / "answers").glob("part-*")) == []
    worker = PartitionWorker(job, given, "cpu", f"sqlite:///{run.store_path}", threads=1)
    assert worker({"partition": np.array([0])})["error"] == [""]


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/answers/part"), "/answers/part: No space left on device"),
        (pa.ArrowInvalid("not a Parquet file\nof any version"), "not a Parquet file"),
    ],
)
def test_errors_of_files_are_results_of_a_worker(
    two_runs: tuple[Run, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception, message: str
):
    """Ray would report them in a hundred lines."""
    from titer.ray.engine import PartitionWorker
    from titer.ray.node import NodeRun

    def fail(*_: object) -> None:
        raise problem

    monkeypatch.setenv(THREADS_VARIABLE, "1")
    (tmp_path / "questions.csv").write_text("subject,relation\nCaldera,invite\n")
    run, _ = two_runs
    job = open_job(JobFolder(str(tmp_path / "answers")), AnswerTask(), run, str(tmp_path / "questions.csv"))
    given = NodeRun(str(run.path), fingerprint(run, events=False), events=False, facts=(0, 0, ""))
    for place, name in ((Job, "answer"), (NodeRun, "open")):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, fail)
            worker = PartitionWorker(job, given, "cpu", None, threads=1)
            assert worker({"partition": np.array([0])}) == {"result": [""], "error": [message]}


CHANGED = """
import sys
from titer.errors import TiterError
from titer.forecasting.jobs.begin import open_job
from titer.forecasting.jobs.folder import JobFolder
from titer.forecasting.jobs.tasks import AnswerTask
from titer.ray.engine import Cluster, run_on_ray
from titer.runs.run import Run
from titer.store.facts import FactStore, NamedFact
run = Run(sys.argv[1])
job = open_job(JobFolder(sys.argv[3]), AnswerTask(), run, sys.argv[2])
with FactStore(run.store_path, run.dataset) as store:
    store.add([NamedFact("Caldera", "invite", "Newland", 181)])
try:
    list(run_on_ray(job, run, job.settings["run"], "cpu", None, Cluster(sys.argv[4], workers=1)))
except TiterError as error:
    print("refused:", error)
"""


def test_an_error_of_a_worker_is_the_error_of_the_job(
    cluster: RayCluster, recurrency_run: Path, run_copy: Callable[[Path], Path], tmp_path: Path
):
    """Facts that are added while a job runs must not change a part of its answers."""
    (tmp_path / "questions.csv").write_text("subject,relation\nCaldera,invite\n")
    words = [str(run_copy(recurrency_run)), str(tmp_path / "questions.csv"), str(tmp_path / "answers"), cluster.address]
    done = titer_process("-c", CHANGED, *words)
    assert "refused: facts were added or removed while the job ran" in done.stdout, done.stderr
    assert list((tmp_path / "answers").glob("part-*")) == []
