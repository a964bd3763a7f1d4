"""Measure the throughput of batch jobs: the local engine, and Ray with one and more workers on this machine.

    python benchmarks/ray_throughput.py RUN --questions 100000 --workers 1 2

The questions are those for the subject and the object of facts of the test split, drawn with replacement. Every engine
answers the same files in a process of its own. All answers must be the same, byte for byte. The result is a file in
``benchmarks/ray``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from titer.files import write_json
from titer.runs.run import Run

RESULTS = Path(__file__).parent / "ray"
NUM_FILES = 4


def write_questions(run: Run, folder: Path, count: int, seed: int) -> None:
    """Write files of questions about random facts of the test split."""
    names, test, axis = run.dataset.vocabulary, run.dataset.test, run.dataset.axis
    chosen = np.random.default_rng(seed).integers(0, len(test), count)
    entities, relations = np.array(names.entities), np.array(names.relations)
    of_object = np.arange(count) % 2 == 0
    labels = {step: axis.label(step) for step in np.unique(test.time).tolist()}
    table = pa.table(
        {
            "id": pa.array(range(count)),
            "subject": pa.array(entities[test.subject[chosen]], mask=~of_object),
            "relation": relations[test.relation[chosen]],
            "object": pa.array(entities[test.object[chosen]], mask=of_object),
            "time": [labels[step] for step in test.time[chosen].tolist()],
        }
    )
    folder.mkdir()
    for number in range(NUM_FILES):
        start, end = (count * (number + i) // NUM_FILES for i in (0, 1))
        pq.write_table(table.slice(start, end - start), folder / f"{number}.parquet")


def measure(path: Path, questions: Path, out: Path, workers: int, top: int) -> dict[str, Any]:
    """Run one job in this process; without workers, by the local engine."""
    started, load = time.monotonic(), os.getloadavg()[0]
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.jobs.begin import open_job
    from titer.forecasting.jobs.folder import JobFolder
    from titer.forecasting.jobs.job import run_locally
    from titer.forecasting.jobs.tasks import AnswerTask

    run = Run(path)
    job = open_job(JobFolder(str(out)), AnswerTask(top), run, str(questions))
    prepared = time.monotonic()
    if workers:
        from titer.ray.engine import Cluster, run_on_ray

        results = run_on_ray(job, run, job.settings["run"], "cpu", None, Cluster(workers=workers))
    else:
        results = run_locally(job, Forecaster.load(run, "cpu"))
    ends: list[float] = []
    done: list[dict[str, Any]] = []
    for result in results:
        ends.append(time.monotonic())
        done.append(asdict(result))
    # Answering began when the first partition to be finished was begun.
    first, last = ends[0] - done[0]["seconds"], ends[-1]
    return {
        "engine": "ray" if workers else "local",
        "workers": workers or 1,
        "questions": job.num_questions,
        "unanswered": sum(one["num_unanswered"] for one in done),
        "partitions": len(done),
        "preparing_seconds": prepared - started,
        "startup_seconds": first - prepared,
        "answering_seconds": last - first,
        "cpu_seconds": sum(one["cpu_seconds"] for one in done),
        "seconds": time.monotonic() - started,
        "load_before": load,
    }


def contents(folder: Path) -> dict[str, bytes]:
    """Return the answers of a job."""
    return {path.name: path.read_bytes() for path in folder.glob("part-*")}


def main() -> None:
    """Measure all engines, and write the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="run directory")
    parser.add_argument("--questions", type=int, default=100_000, help="number of questions")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2], help="numbers of workers on Ray")
    parser.add_argument("--top", type=int, default=10, help="answers per question")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice of questions")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result file")
    parser.add_argument("--measure", nargs=3, help="measure one engine (used internally)")
    options = parser.parse_args()
    if options.measure:
        questions, out, workers = options.measure
        print(json.dumps(measure(options.run, Path(questions), Path(out), int(workers), options.top)))
        return
    import torch

    from titer.runs.provenance import provenance

    run = Run(options.run)
    result: dict[str, Any] = {
        "command": f"python benchmarks/ray_throughput.py RUN --questions {options.questions} --top {options.top}",
        "model": run.config.model_name,
        "dataset": run.dataset.name,
        "dataset_sha256": run.dataset.checksum,
        "seed": options.seed,
        "top": options.top,
        **provenance(torch.device("cpu")),
        "cores": os.cpu_count(),
        "ray": version("ray"),
        "engines": [],
    }
    with tempfile.TemporaryDirectory() as name:
        write_questions(run, Path(name) / "questions", options.questions, options.seed)
        expected: dict[str, bytes] = {}
        for workers in (0, *options.workers):
            out = Path(name) / f"answers-{workers}"
            words = [
                str(options.run),
                "--top",
                str(options.top),
                "--measure",
                f"{name}/questions",
                str(out),
                str(workers),
            ]
            done = subprocess.run([sys.executable, __file__, *words], check=True, stdout=subprocess.PIPE, text=True)
            result["engines"].append(json.loads(done.stdout.splitlines()[-1]))
            expected = expected or contents(out)
            assert contents(out) == expected, "the answers differ"
    options.out.mkdir(exist_ok=True)
    write_json(options.out / f"{result['model']}-{result['dataset'].lower()}.json", result)


if __name__ == "__main__":
    main()
