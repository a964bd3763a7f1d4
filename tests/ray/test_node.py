"""The copy of a run on nodes of a cluster that do not have it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ray_cluster import TwoNodes
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.jobs.fingerprint import facts_version, fingerprint
from titer.runs.run import Run
from titer.store.facts import FactStore, NamedFact

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]

WORKERS = """
import os, sys, ray
from titer.ray.node import NodeRun, pack
from titer.forecasting.jobs.fingerprint import fingerprint
from titer.runs.run import Run
run = Run(sys.argv[1])
cache = {"TITER_CACHE": os.environ["TITER_CACHE"]}
ray.init(address=sys.argv[2], log_to_driver=False, runtime_env={"env_vars": cache})
node_run = NodeRun("/nowhere", fingerprint(run, events=False), False, ray.put(pack(run)))

@ray.remote
class Worker:
    def open(self, given):
        path = given.open().path
        return str(path), (path / "model.safetensors").stat().st_ino

workers = [Worker.remote() for _ in range(3)]
found = ray.get([worker.open.remote(node_run) for worker in workers])
assert len(set(found)) == 1, found
print(found[0][0])
"""


def test_workers_of_a_node_share_one_copy(
    cluster: TwoNodes,
    recurrency_run: Path,
    run_copy: Callable[[Path], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    run = Run(run_copy(recurrency_run))
    with FactStore(run.store_path, run.dataset) as store:
        store.add([NamedFact("Caldera", "invite", "Newland", 181)])
    monkeypatch.setenv("TITER_CACHE", str(tmp_path / "cache"))
    words = [str(run.path), cluster.address]
    done = subprocess.run([sys.executable, "-c", WORKERS, *words], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    copy = Run(done.stdout.split()[-1])
    assert tmp_path / "cache" in copy.path.parents
    assert fingerprint(copy, events=False) == fingerprint(run, events=False)
    assert facts_version(copy.store_path, copy.dataset) == (1, 0)
    asked = "Caldera", "invite"
    assert Forecaster.load(copy).ask(*asked) == Forecaster.load(run).ask(*asked)


def test_a_run_with_other_contents_at_the_same_path_is_not_used(recurrency_run: Path, run_copy: Callable[[Path], Path]):
    from titer.errors import RunError
    from titer.ray.node import NodeRun

    path = run_copy(recurrency_run)
    given = NodeRun(str(path), fingerprint(Run(path), events=False), events=False)
    assert given.open().path == path
    (path / "training.json").write_text((path / "training.json").read_text() + " ")
    with pytest.raises(RunError, match="another run"):
        given.open()


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
    cluster: TwoNodes, recurrency_run: Path, run_copy: Callable[[Path], Path], tmp_path: Path
):
    """Facts that are added while a job runs must not change a part of its answers."""
    (tmp_path / "questions.csv").write_text("subject,relation\nCaldera,invite\n")
    words = [str(run_copy(recurrency_run)), str(tmp_path / "questions.csv"), str(tmp_path / "answers"), cluster.address]
    done = subprocess.run([sys.executable, "-c", CHANGED, *words], capture_output=True, text=True, timeout=200)
    assert "refused: facts were added or removed while the job ran" in done.stdout, done.stderr
    assert list((tmp_path / "answers").glob("part-*")) == []
