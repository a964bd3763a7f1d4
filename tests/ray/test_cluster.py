"""Batch jobs on a real Ray cluster: the same answers as locally, whatever dies on the way."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from commands import titer_process
from ray_cluster import RayCluster
from ray_questions import write_questions
from titer.runs.run import Run
from titer.store.facts import FactStore, NamedFact
from warm_processes import WarmProcess

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray"), pytest.mark.timeout(600)]
ADDED = "2023-05-01"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("jobs")


@pytest.fixture(scope="module")
def run(path_mixture_run: Path, folder: Path) -> Path:
    """Return a run with facts that were added at the time of some questions, and later."""
    run = Run(shutil.copytree(path_mixture_run, folder / "run"))
    step, names = run.dataset.axis.step(ADDED), run.dataset.vocabulary
    facts = [
        NamedFact(subject, relation, names.entities[0], step + day)
        for subject in names.entities[1:20]
        for relation in names.relations
        for day in (0, 3, 9)
    ]
    with FactStore(run.store_path, run.dataset) as store:
        store.add(facts, backfill=True)
    return run.path


@pytest.fixture(scope="module")
def options(run: Path, folder: Path) -> list[str]:
    """Return options with enough questions for something to happen while they are answered."""
    write_questions(folder / "questions", run, num_files=3, num_rows=120)
    return ["--file", f"{folder}/questions/*.parquet", "--explain", "--top", "2", "--partition-size", "12"]


@pytest.fixture(scope="module")
def words(run: Path, options: list[str]) -> list[str]:
    return ["forecast", str(run), *options]


@pytest.fixture(scope="module")
def expected(words: list[str], folder: Path) -> dict[str, bytes]:
    """Return the files that the local engine writes."""
    done = titer_process(*words, "--out", folder / "local")
    assert done.returncode == 0, done.stderr
    return files_of(folder / "local")


def files_of(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.glob("part-*")}


def start(words: list[str], out: Path, cluster: RayCluster, workers: int) -> WarmProcess:
    options = ["--out", str(out), "--engine", "ray", "--address", cluster.address, "--workers", str(workers)]
    return WarmProcess(*words, *options, stderr=subprocess.PIPE)


def finish(process: WarmProcess) -> str:
    _, shown = process.communicate(timeout=300)
    assert process.returncode == 0, shown
    return shown


def wait_for(process: WarmProcess, out: Path, num_files: int) -> None:
    limit = time.monotonic() + 120
    while len(list(out.glob("part-*"))) < num_files:
        assert time.monotonic() < limit
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)


def wait_until(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_a_job_survives_the_end_of_a_worker_of_its_own_process_and_of_a_node(
    cluster: RayCluster, words: list[str], expected: dict[str, bytes], folder: Path
):
    out = folder / "cluster"
    process = start(words, out, cluster, workers=1)
    wait_for(process, out, 2)
    (worker,) = cluster.workers()
    os.kill(worker, signal.SIGKILL)
    done = len(list(out.glob("part-*")))
    wait_for(process, out, done + 2)  # by another worker
    process.kill()
    process.communicate()
    wait_until(lambda: not cluster.workers())  # Ray ends the workers of a job whose process is gone

    kept = {path.name: path.stat().st_mtime_ns for path in out.glob("part-*")}
    assert 4 <= len(kept) < len(expected)
    cluster.do("add")
    process = start(words, out, cluster, workers=2)
    wait_for(process, out, len(kept) + 2)
    wait_until(lambda: len(cluster.workers()) == 2)
    workers = set(cluster.workers())
    cluster.do("remove")
    assert len(files_of(out)) < len(expected)
    wait_until(lambda: not workers <= set(cluster.workers()))
    shown = finish(process)
    assert f"{len(kept)} of {len(expected)} partitions answered already" in shown
    assert files_of(out) == expected
    assert {path.name for path in out.iterdir()} == {*expected, "_job.json"}
    assert {name: (out / name).stat().st_mtime_ns for name in kept} == kept, "nothing is answered twice"


def test_a_question_is_answered_from_facts_before_its_time(
    path_mixture_run: Path, options: list[str], expected: dict[str, bytes], folder: Path
):
    """Facts of the time of a question and later ones change no answer; the cluster gives the same ones, see above."""
    before = titer_process("forecast", path_mixture_run, *options, "--out", folder / "before")
    assert before.returncode == 0, before.stderr
    kept = ["question", "rank", "answer", "score", "probability", "evidence"]
    times = [time or "later" for time in pq.read_table(folder / "questions").column("time").to_pylist()]
    assert ADDED in times

    def answers(out: str, *, early: bool) -> list[dict]:
        rows = pads.dataset(folder / out).to_table(columns=kept).to_pylist()
        return [row for row in rows if (times[row["question"] - 1] <= ADDED) == early]

    assert len(answers("before", early=True)) > 200
    assert answers("before", early=True) == answers("local", early=True)
    assert answers("before", early=False) != answers("local", early=False)


def test_events_are_forecast_on_the_cluster(cluster: RayCluster, event_run: Path, tmp_path: Path):
    (tmp_path / "questions.csv").write_text(
        "id,subject,relation,object,time\n7,Lumeria,hold talks with,,2023-05-01\n8,?,accuse,Aldoria,2023-06-01\n"
        "9,Nowhere,accuse,,2023-06-01\n"
    )
    words = ["events", str(event_run), "--file", str(tmp_path / "questions.csv"), "--top", "4", "--within", "7d",
             "--explain", "--partition-size", "1"]  # fmt: skip
    finish(start(words, tmp_path / "remote", cluster, workers=1))
    done = titer_process(*words, "--out", tmp_path / "local")
    assert done.returncode == 0, done.stderr
    assert files_of(tmp_path / "remote") == files_of(tmp_path / "local")
    rows = pads.dataset(tmp_path / "remote").to_table().to_pylist()
    assert {row["id"] for row in rows} == {"7", "8", "9"}


def test_more_workers_than_fit_are_refused_at_once(cluster: RayCluster, words: list[str], folder: Path):
    options = ["--out", str(folder / "many"), "--engine", "ray", "--address", cluster.address]
    for more, message in (
        (["--workers", "6"], "6 workers need 7 CPUs"),
        (["--workers", "1", "--gpus-per-worker", "1"], "and 1 GPUs"),
    ):
        done = titer_process(*words, *options, *more)
        assert done.returncode == 1
        assert message in done.stderr
    done = titer_process(*words, *options[:4], "--address", "127.0.0.1:1")
    assert "cannot use the Ray cluster '127.0.0.1:1'" in done.stderr
    assert not (folder / "many").exists(), "nothing is written before the cluster is found"


PREDICTOR = """
import sys, ray
from titer.ray import Predictor
run, address, questions, out = sys.argv[1:]
ray.init(address=address)
data = ray.data.read_parquet(questions)
answers = data.map_batches(
    Predictor, fn_constructor_args=[run], fn_constructor_kwargs={"top": 2}, batch_size=100,
    compute=ray.data.ActorPoolStrategy(size=1), num_cpus=1, batch_format="numpy",  # Arrow tables: test_predictor.py
)
answers.write_parquet(out)
"""


def test_the_predictor_answers_a_dataset_of_ray(cluster: RayCluster, recurrency_run: Path, tmp_path: Path):
    write_questions(tmp_path / "questions", recurrency_run, num_files=2, num_rows=200)
    words = [str(recurrency_run), cluster.address, str(tmp_path / "questions"), str(tmp_path / "answers")]
    done = titer_process("-c", PREDICTOR, *words)
    assert done.returncode == 0, done.stderr
    local = titer_process(
        "forecast", recurrency_run, "--file", tmp_path / "questions", "--top", "2", "--out", tmp_path / "local.parquet"
    )
    assert local.returncode == 0, local.stderr
    kept = ["id", "subject", "relation", "time", "rank", "answer", "probability", "error"]
    order = [("id", "ascending"), ("rank", "ascending")]
    expected = pq.read_table(tmp_path / "local.parquet", columns=kept).sort_by(order)
    found = pads.dataset(tmp_path / "answers").to_table(columns=kept).sort_by(order)
    assert found.drop_columns("probability").to_pylist() == expected.drop_columns("probability").to_pylist()
    pairs = zip(found["probability"].to_pylist(), expected["probability"].to_pylist(), strict=True)
    assert all(first == pytest.approx(second, rel=1e-5) for first, second in pairs)
