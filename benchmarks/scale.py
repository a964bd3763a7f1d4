"""Measure how the cost of import, index, training and forecasts grows with the number of facts.

    python benchmarks/scale.py --facts 1e6 --entities 3e4

Facts are generated with the shape of real event data (``generated_facts.py``) and written as a Parquet file with names
and dates. Each stage runs in a process of its own, which measures time, CPU time and memory. The results go to
``benchmarks/scale``; ``python benchmarks/render.py`` renders them in ``docs/scale.md``.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHUNK = 1 << 20
TRAINED_QUERIES = 2000
"""Queries of the part of an epoch that is measured: the last of the training split."""
ASKED = 200
"""Queries that are answered and ranked against all entities."""
RESULTS = Path(__file__).parent / "scale"


def generate(path: Path, num_facts: int, num_entities: int) -> dict[str, float]:
    """Write generated facts as a Parquet file, or as CSV if the name ends so."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv, parquet

    from generated_facts import NUM_RELATIONS, NUM_STEPS, generated_facts

    facts = generated_facts(num_facts, num_entities)
    entities = pa.array([f"Entity number {i}" for i in range(num_entities)])
    relations = pa.array([f"Relation {i}" for i in range(NUM_RELATIONS)])
    days = pa.array(np.datetime_as_string(np.datetime64("2010-01-01") + np.arange(NUM_STEPS)).tolist())
    names = {"subject": entities, "relation": relations, "object": entities, "time": days}
    schema = pa.schema([(name, pa.string()) for name in names])
    writer = csv.CSVWriter(str(path), schema) if path.suffix == ".csv" else parquet.ParquetWriter(path, schema)
    with writer:
        for start in range(0, num_facts, CHUNK):
            part = facts[start : start + CHUNK]
            columns = [of.take(pa.array(ids)) for of, ids in zip(names.values(), part.columns, strict=True)]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
    return {"megabytes": path.stat().st_size / 1e6}


def import_facts(source: Path, out: Path) -> dict[str, float]:
    """Import the file into a dataset folder."""
    from titer import import_dataset

    clock = Clock()
    import_dataset(source, out)
    clock.lap("facts")
    return clock.laps


def index_facts(folder: Path) -> dict[str, float]:
    """Open the dataset folder, and build and store its index."""
    from titer import load_dataset
    from titer.graph.stored_history import history_of

    clock = Clock()
    dataset = load_dataset(folder)
    clock.lap("dataset")
    history = history_of(dataset)
    clock.lap("history")
    index = history.pair_index
    clock.lap("pairs")
    return clock.laps | {"bytes_per_fact": 2 * (history.num_bytes + index.num_bytes) / history.num_edges}


def open_facts(folder: Path) -> dict[str, float]:
    """Open the dataset folder and its stored index; then add one fact to it."""
    import numpy as np

    from titer import Facts, load_dataset
    from titer.graph.stored_history import history_of

    clock = Clock()
    dataset = load_dataset(folder)
    clock.lap("dataset")
    history = history_of(dataset)
    _ = history.pair_index
    clock.lap("index")
    # Two entities of ordinary size.
    facts = history.offsets.diff().numpy()
    subject, object = np.argsort(facts)[len(facts) // 2 :][:2].tolist()
    last = history.last_time or 0
    clock.lap("choosing")
    _ = history.including(Facts.from_rows([(subject, 0, object, last + 1)])).pair_index
    clock.lap("one_more_fact")
    return clock.laps


def index_training_facts(folder: Path) -> dict[str, float]:
    """Build and store the index of the training split."""
    from titer import load_dataset
    from titer.graph.stored_history import history_of

    _ = history_of(load_dataset(folder), "train").pair_index
    return {}


def train(folder: Path) -> dict[str, float]:
    """Train the path mixture on the last queries of the training split, with the stored index of that split."""
    import torch

    from titer import Queries, load_dataset
    from titer.graph.stored_history import history_of
    from titer.models.registry import model_class
    from titer.training.batches import shuffled_batches
    from titer.training.config import Config
    from titer.training.steps import make_stepper

    dataset = load_dataset(folder)
    history = history_of(dataset, "train")
    _ = history.pair_index
    config = Config.load(None, "path_mixture", [])
    torch.manual_seed(0)
    model = model_class("path_mixture")(dataset.vocabulary, dataset.axis, config.model)
    recent = dataset.train[-TRAINED_QUERIES // 2 :]
    model.prepare(dataset.train, dataset.valid)
    queries, answers = Queries.from_facts(recent, dataset.vocabulary)
    stepper = make_stepper(model, queries, answers, history, config.training)
    batches = shuffled_batches(stepper.queries, config.training.batch_size, by_time=model.batch_by_time)
    stepper.step(batches[0])
    clock, trained = Clock(), 0
    for rows in batches[1:]:
        stepper.step(rows)
        trained += len(rows)
    clock.lap("queries")
    return clock.laps | {"queries": trained}


def forecast(folder: Path) -> dict[str, float]:
    """Rank the answers to queries of the test split among all entities, with an untrained path mixture."""
    import torch

    from titer import load_dataset
    from titer.evaluation.evaluate import evaluate_task
    from titer.evaluation.task import EvaluationTask
    from titer.models.registry import model_class

    dataset = load_dataset(folder)
    task = EvaluationTask(dataset, "test")  # with the stored index
    _ = task.history.pair_index
    torch.manual_seed(0)
    model = model_class("path_mixture")(dataset.vocabulary, dataset.axis)
    model.prepare(dataset.train, dataset.valid)
    num_facts = len(dataset.test)
    last = torch.arange(num_facts - ASKED // 2, num_facts)
    rows = torch.cat([last, last + num_facts])  # queries for objects, then those for subjects
    task.queries, task.answers = task.queries[rows], task.answers[rows]
    _ = task.true_answers
    clock = Clock()
    evaluate_task(model.eval(), task, quiet=True)
    clock.lap("queries")
    return clock.laps | {"queries": ASKED}


STAGES: dict[str, Callable[..., dict[str, float]]] = {
    "generate": generate,
    "import": import_facts,
    "index": index_facts,
    "open": open_facts,
    "train-index": index_training_facts,
    "train": train,
    "forecast": forecast,
}


class Clock:
    """Measures the time and the CPU time of parts of a stage."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._seconds, self._cpu = time.perf_counter(), time.process_time()

    def lap(self, name: str) -> None:
        """Name the part that ends now."""
        seconds, cpu = time.perf_counter(), time.process_time()
        self.laps |= {f"{name}_seconds": seconds - self._seconds, f"{name}_cpu_seconds": cpu - self._cpu}
        self._seconds, self._cpu = seconds, cpu


class PrivateMemory(threading.Thread):
    """Watches the private memory of this process: without pages of mapped files, which the system may drop."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0

    def run(self) -> None:
        """Look every few milliseconds."""
        while True:
            self.peak = max(self.peak, self.now())
            time.sleep(0.02)

    @staticmethod
    def now() -> int:
        """Return the private memory of this process in bytes."""
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


def measure(stage: str, words: list[str]) -> dict[str, float]:
    """Run a stage in this process, and measure it."""
    arguments = [int(float(word)) if word.replace("e", "").replace(".", "").isdigit() else Path(word) for word in words]
    watch = PrivateMemory()
    watch.start()
    started, cpu = time.perf_counter(), time.process_time()
    found = STAGES[stage](*arguments)
    return {
        **found,
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - cpu,
        "private_gigabytes": watch.peak / 1e9,
        "resident_gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
    }


def run_stage(stage: str, *arguments: object) -> dict[str, float]:
    """Run a stage in a process of its own."""
    command = [sys.executable, __file__, "--stage", stage, *map(str, arguments)]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    shown = ", ".join(f"{name} {value:,.2f}" for name, value in found.items())
    print(f"{stage:>11}: {shown}", flush=True)
    return found


def measure_all(options: argparse.Namespace) -> dict[str, Any]:
    """Generate facts, and run all stages on them."""
    import torch

    from titer.runs.provenance import provenance

    num_facts, num_entities = int(options.facts), int(options.entities)
    skipped = f" --skip {' '.join(options.skip)}" if options.skip else ""
    result: dict[str, Any] = {
        "facts": num_facts,
        "entities": num_entities,
        "command": f"python benchmarks/scale.py --facts {num_facts} --entities {num_entities}{skipped}",
        **provenance(torch.device("cpu")),
        "load": os.getloadavg()[0],
    }
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        source, dataset = Path(name) / f"facts.{options.format}", Path(name) / "dataset"
        result["format"] = options.format
        stages: dict[str, tuple[object, ...]] = {
            "generate": (source, num_facts, num_entities),
            "import": (source, dataset),
            **dict.fromkeys(("index", "open", "train-index", "train", "forecast"), (dataset,)),
        }
        for stage, arguments in stages.items():
            if stage.removesuffix("-index") not in options.skip:
                result[stage] = run_stage(stage, *arguments)
            if stage == "import":
                source.unlink()
    return result


def main() -> None:
    """Measure one size, and write the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=float, default=1e6, help="number of facts")
    parser.add_argument("--entities", type=float, default=3e4, help="number of entities")
    parser.add_argument("--format", choices=["parquet", "csv"], default="parquet", help="file format to import from")
    parser.add_argument("--skip", nargs="*", default=[], help="stages to leave out, such as train")
    parser.add_argument("--folder", type=Path, help="where to put files, by default the temporary folder")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result file")
    parser.add_argument("--stage", choices=STAGES, help="run one stage (used internally)")
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    if options.stage:
        print(json.dumps(measure(options.stage, options.arguments)))
        return
    result = measure_all(options)
    from titer.files import write_json

    write_json(options.out / f"{result['facts']}-{result['entities']}.json", result)


if __name__ == "__main__":
    main()
