"""Batch jobs on a real Ray cluster of two nodes: the same answers as locally, whatever dies on the way."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from commands import titer_process
from ray_cluster import TwoNodes
from ray_questions import write_questions
from titer.data.dataset import Dataset
from titer.runs.run import Run
from titer.store.facts import FactStore, NamedFact
from warm_processes import WarmProcess

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray"), pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("jobs")


@pytest.fixture(scope="module")
def words(path_mixture_run: Path, folder: Path) -> list[str]:
    """Return a command with enough questions for something to happen while they are answered."""
    write_questions(folder / "questions", path_mixture_run, num_files=3, num_rows=120)
    return ["forecast", str(path_mixture_run), "--file", f"{folder}/questions/*.parquet", "--explain", "--top", "2",
            "--partition-size", "12"]  # fmt: skip


@pytest.fixture(scope="module")
def expected(words: list[str], folder: Path) -> dict[str, bytes]:
    """Return the files that the local engine writes."""
    done = titer_process(*words, "--out", folder / "local")
    assert done.returncode == 0, done.stderr
    return files_of(folder / "local")


def files_of(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.glob("part-*")}


def start(words: list[str], out: Path, cluster: TwoNodes, workers: int = 2) -> WarmProcess:
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


def test_a_worker_and_a_node_that_die_are_replaced(
    cluster: TwoNodes, words: list[str], expected: dict[str, bytes], folder: Path
):
    out = folder / "killed"
    process = start(words, out, cluster)
    wait_for(process, out, 3)
    os.kill(cluster.workers()[0], signal.SIGKILL)
    wait_for(process, out, 10)
    cluster.do("remove")
    try:
        assert "answers to 360 questions" in finish(process)
    finally:
        cluster.do("add")
    assert files_of(out) == expected
    assert {path.name for path in out.iterdir()} == {*expected, "_job.json"}


def test_an_interrupted_job_goes_on_and_repeats_nothing(
    cluster: TwoNodes, words: list[str], expected: dict[str, bytes], folder: Path
):
    out = folder / "interrupted"
    process = start(words, out, cluster)
    wait_for(process, out, 5)
    assert len(cluster.workers()) == 2
    process.kill()
    process.communicate()
    limit = time.monotonic() + 60
    while cluster.workers():  # Ray ends the workers of a job whose driver is gone
        assert time.monotonic() < limit
        time.sleep(0.1)
    done = {path.name: path.stat().st_mtime_ns for path in out.glob("part-*")}
    assert 5 <= len(done) < len(expected)
    assert f"{len(done)} of {len(expected)} partitions answered already" in finish(start(words, out, cluster))
    assert files_of(out) == expected
    assert {name: (out / name).stat().st_mtime_ns for name in done} == done


def test_a_question_is_answered_from_facts_before_its_time(
    cluster: TwoNodes, recurrency_run: Path, run_copy: Callable[[Path], Path], tmp_path: Path, world_data: Dataset
):
    """Facts of the time of a question and later ones change no answer."""
    run = run_copy(recurrency_run)
    write_questions(tmp_path / "questions", run, num_files=1, num_rows=200)
    words = ["forecast", str(run), "--file", f"{tmp_path}/questions", "--explain", "--partition-size", "50"]
    local = titer_process(*words, "--out", tmp_path / "before")  # the same answers, as the other tests show
    assert local.returncode == 0, local.stderr
    step = world_data.axis.step("2023-05-01")
    names = world_data.vocabulary
    with FactStore(Run(run).store_path, world_data) as store:
        facts = [
            NamedFact(subject, relation, names.entities[0], step + day)
            for subject in names.entities[1:20]
            for relation in names.relations
            for day in (0, 3, 9)
        ]
        store.add(facts, backfill=True)
    finish(start(words, tmp_path / "after", cluster, workers=1))
    kept = ["question", "rank", "answer", "score", "probability", "evidence"]
    times = [time or "later" for time in pq.read_table(tmp_path / "questions").column("time").to_pylist()]
    assert "2023-05-01" in times

    def answers(out: str, *, early: bool) -> list[dict]:
        rows = pads.dataset(tmp_path / out).to_table(columns=kept).to_pylist()
        return [row for row in rows if (times[row["question"] - 1] <= "2023-05-01") == early]

    assert len(answers("before", early=True)) > 500
    assert answers("before", early=True) == answers("after", early=True)
    assert answers("before", early=False) != answers("after", early=False)


def test_events_are_forecast_on_the_cluster(cluster: TwoNodes, event_run: Path, tmp_path: Path):
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


def test_more_workers_than_fit_are_refused_at_once(cluster: TwoNodes, words: list[str], folder: Path):
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


def test_the_predictor_answers_a_dataset_of_ray(cluster: TwoNodes, recurrency_run: Path, tmp_path: Path):
    write_questions(tmp_path / "questions", recurrency_run, num_files=2, num_rows=200)
    words = [str(recurrency_run), cluster.address, str(tmp_path / "questions"), str(tmp_path / "answers")]
    done = subprocess.run([sys.executable, "-c", PREDICTOR, *words], capture_output=True, text=True, timeout=300)
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
