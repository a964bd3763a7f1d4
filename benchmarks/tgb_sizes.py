"""Measure training and evaluation on generated data of the sizes of the temporal knowledge graphs of TGB 2.0.

    python benchmarks/tgb_sizes.py tkgl-polecat --model path_mixture --device cuda

The data are generated in the format of TGB, read, indexed, trained on and evaluated by TGB's protocol. Facts are
invented, so only time and memory mean something. A part of an epoch and the queries of the first time steps of the test
split are measured, and the file says how many. Results go to ``benchmarks/tgb_sizes``; ``python benchmarks/render.py``
renders them in ``docs/tgb.md``.
"""

import argparse
import fcntl
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from tgb_files import write_candidates, write_edges
from titer.data.dataset import Dataset
from titer.data.dataset_folder import open_dataset, save_dataset
from titer.data.tgb.catalogue import TGB_BENCHMARKS, TgbBenchmark, candidate_file
from titer.data.tgb.reader import read_tgb
from titer.evaluation.task import EvaluationTask
from titer.evaluation.tgb import evaluate_tgb_task
from titer.evaluation.tgb_candidates import TgbCandidates
from titer.graph.queries import Queries
from titer.graph.stored_history import history_of
from titer.models.base import Model
from titer.models.registry import model_class
from titer.runs.provenance import provenance
from titer.training.config import Config
from titer.training.device import choose_device
from titer.training.steps import make_stepper

RESULTS = Path(__file__).parent / "tgb_sizes"
WARM_UP = 20
"""Batches before the time is taken."""


class Stages:
    """Seconds of each stage, printed as they end."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.seconds: dict[str, float] = {}
        self._started = time.perf_counter()

    def end(self, name: str) -> float:
        """Name the stage that ends now, and return its seconds."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        now = time.perf_counter()
        self.seconds[name] = round(now - self._started, 3)
        self._started = now
        print(f"{name}: {self.seconds[name]:,.1f} s, {gigabytes(self.device)}", flush=True)
        return self.seconds[name]


def gigabytes(device: torch.device) -> dict[str, float]:
    """Return the peaks of memory so far."""
    found = {"resident_gigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9, 2)}
    if device.type == "cuda":
        found["gpu_gigabytes"] = round(torch.cuda.max_memory_reserved(device) / 1e9, 2)
    return found


def measure(benchmark: TgbBenchmark, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run all stages."""
    device = choose_device(options.device)
    stages = Stages(device)
    write_edges(benchmark, folder, options.scale)
    stages.end("generate")
    dataset = read_tgb(folder, static=options.static)
    stages.end("read")
    save_dataset(dataset, folder / "dataset")
    dataset = open_dataset(folder / "dataset")
    for until in ("train", "test"):
        _ = history_of(dataset, until).pair_index
    stages.end("index")
    if options.lock:
        waited_for = options.lock.open("w")  # released when the process ends
        fcntl.flock(waited_for, fcntl.LOCK_EX)
        stages.end("wait")
    config = Config.load(None, options.model, options.set)
    torch.manual_seed(0)
    model = model_class(options.model)(dataset.vocabulary, dataset.axis, config.model).to(device)
    model.prepare(dataset.train, dataset.valid)
    prepared = stages.end("prepare")
    training = {"prepare_seconds": prepared}
    if model.is_trained_by_gradients:
        training |= train(model, dataset, config, options.trained, stages)
    task = first_steps(dataset, options.queries, device)
    stages.end("prepare evaluation")
    num_negatives = benchmark.num_negatives and min(benchmark.num_negatives, dataset.vocabulary.num_entities)
    path = folder / candidate_file(benchmark.name, "test")
    keys = write_candidates(task, path, num_negatives)
    stages.end("write candidates")
    candidates = TgbCandidates.load(path, dataset)
    stages.end("read candidates")
    found = evaluate_tgb_task(model, task, candidates, quiet=True)
    stages.end("evaluate")
    return {
        "dataset": benchmark.name,
        "static": options.static,
        "scale": options.scale,
        "facts": len(dataset.facts),
        "entities": dataset.vocabulary.num_entities,
        "relations": dataset.vocabulary.num_relations,
        "model": options.model,
        "settings": config.to_dict(),
        "training": training,
        "evaluation": {
            "queries": len(found.queries),
            "keys": keys,
            "whole_split": 2 * len(dataset.test),
            "candidates": found.candidates,
            "seconds": round(found.seconds, 3),
        },
        "seconds": stages.seconds,
        "memory": gigabytes(device),
        "command": " ".join(["python benchmarks/tgb_sizes.py", *options.words]),
        **provenance(device),
    }


def first_steps(dataset: Dataset, num_queries: int, device: torch.device) -> EvaluationTask:
    """Return all queries of the first time steps of the test split, at least a number of them.

    A sample of the whole split would have few queries of each time step, and queries of one step share much work.
    """
    task = EvaluationTask(dataset, "test", device=device)
    last = torch.sort(task.queries.time).values[min(num_queries, len(task.queries)) - 1]
    rows = (task.queries.time <= last).nonzero()[:, 0]
    task.queries, task.answers = task.queries[rows], task.answers[rows]
    _ = task.history.pair_index
    return task


def train(model: Model, dataset: Dataset, config: Config, trained: int, stages: Stages) -> dict[str, float]:
    """Take optimisation steps on the last queries of the training split, which have the longest history."""
    history = history_of(dataset, "train").to(model.device)
    queries, answers = Queries.from_facts(dataset.train[-trained // 2 :], dataset.vocabulary)
    stepper = make_stepper(model, queries, answers, history, config.training)
    model.train()
    batches = stepper.batches()
    warm_up = min(WARM_UP, len(batches) // 2)
    for rows in batches[:warm_up]:
        stepper.step(rows)
    stages.end("warm up")
    for rows in batches[warm_up:]:
        stepper.step(rows)
    seconds = stages.end("train")
    asked = sum(len(rows) for rows in batches[warm_up:])
    return {"queries": asked, "seconds": seconds, "whole_epoch": 2 * len(dataset.train)}


def main() -> None:
    """Measure one dataset and one model, and write a file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dataset", choices=list(TGB_BENCHMARKS))
    parser.add_argument("--model", default="path_mixture")
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="change a setting")
    parser.add_argument("--static", action="store_true", help="include static facts")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--scale", type=float, default=1.0, help="factor of facts and entities, for trials")
    parser.add_argument("--trained", type=int, default=400_000, help="training queries to measure")
    parser.add_argument("--queries", type=int, default=40_000, help="test queries to measure at least")
    parser.add_argument("--folder", type=Path, help="where to put the generated data (default: a temporary folder)")
    parser.add_argument("--lock", type=Path, help="file that measurements at the same time wait for")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.words = [options.dataset, "--model", options.model, *(["--static"] if options.static else [])]
    options.words += [word for change in options.set for word in ("--set", change)]
    options.words += [f"--trained {options.trained}", f"--queries {options.queries}"]
    options.words += [f"--scale {options.scale:g}"] if options.scale != 1 else []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        found = measure(TGB_BENCHMARKS[options.dataset], options, Path(folder))
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{options.model}-{options.dataset}{'-static' if options.static else ''}.json"
    path.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
