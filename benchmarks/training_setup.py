"""Measure the set-up of a training: its two indexes, without stored ones, when they are stored, and when opened again.

    python benchmarks/training_setup.py data/events

The dataset is a dataset folder; its stored indexes are used if it has some. Each measurement runs in a process of its
own and prints time, CPU time and private memory up to the first optimisation step, and from there to the first
validation. ``--cold`` drops the files from the memory of the system before each measurement.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from scale import Clock, PrivateMemory

INDEXES = {"in memory": "off", "first time": "always", "second time": "always"}
"""Values of ``TITER_INDEX`` for each measurement."""


def set_up(folder: Path) -> dict[str, float]:
    """Prepare a training of the path mixture as ``titer train`` does, and return what each part cost."""
    import torch

    from titer import Queries, load_dataset
    from titer.evaluation.task import EvaluationTask
    from titer.graph.stored_history import history_of
    from titer.models.registry import model_class
    from titer.training.config import Config
    from titer.training.steps import make_stepper

    memory = PrivateMemory()
    memory.start()
    clock = Clock()
    dataset = load_dataset(folder)
    clock.lap("dataset")
    torch.manual_seed(0)
    config = Config.load(None, "path_mixture", [])
    model = model_class("path_mixture")(dataset.vocabulary, dataset.axis, config.model)
    model.prepare(dataset.train, dataset.valid)
    queries, answers = Queries.from_facts(dataset.train, dataset.vocabulary)
    clock.lap("model")
    history = history_of(dataset, "train")
    _ = history.pair_index
    clock.lap("train_index")
    stepper = make_stepper(model, queries, answers, history, config.training)
    stepper.step(torch.arange(len(queries) - config.training.batch_size, len(queries)))
    clock.lap("first_step")
    task = EvaluationTask(dataset, "valid")
    _ = task.history.pair_index
    clock.lap("valid_index")
    _ = task.true_answers
    clock.lap("true_answers")
    return clock.laps | {"private_gigabytes": memory.now() / 1e9, "peak_private_gigabytes": memory.peak / 1e9}


def drop(folder: Path) -> None:
    """Drop the files of a folder from the memory of the system, where they have been written to the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> None:
    """Measure all cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path, help="dataset folder")
    parser.add_argument("--cold", action="store_true", help="read all files from the disk")
    parser.add_argument("--case", choices=INDEXES, help="measure one case (used internally)")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(set_up(options.dataset)))
        return
    for case, index in INDEXES.items():
        if options.cold:
            drop(options.dataset)
        command = [sys.executable, __file__, str(options.dataset), "--case", case]
        environment = {**os.environ, "TITER_INDEX": index}
        found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
        print(f"{case}:", ", ".join(f"{name} {value:.2f}" for name, value in json.loads(found).items()), flush=True)


if __name__ == "__main__":
    main()
