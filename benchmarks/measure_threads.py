"""Measure how the number of CPU threads affects optimisation steps and scoring.

    python benchmarks/measure_threads.py MODEL DATASET 1,2,4,8

Prints wall-clock and CPU milliseconds for one optimisation step and for one batch of validation queries.
"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from titer.data.load import load_dataset
from titer.evaluation.batching import default_batch_size
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import evaluating
from titer.models.registry import model_class
from titer.training.batches import shuffled_batches
from titer.training.config import Config
from titer.training.steps import make_stepper

NUM_BATCHES = 8
MAX_SECONDS = 20.0


def measured(work: Callable[[Any], object], batches: Sequence[Any]) -> str:
    """Return the mean duration of some work on each batch, after one batch to warm up."""
    first, *others = batches
    work(first)
    started, used, done = time.perf_counter(), time.process_time(), 0
    for batch in others:
        work(batch)
        done += 1
        if time.perf_counter() - started > MAX_SECONDS:
            break
    wall, cpu = time.perf_counter() - started, time.process_time() - used
    return f"{1000 * wall / done:.1f} ms, {1000 * cpu / done:.1f} ms of CPU time"


def main(name: str, where: str, threads: str) -> None:
    """Measure one model on one dataset."""
    dataset = load_dataset(where)
    config = Config.load(None, name, ["training.device=cpu"])
    torch.manual_seed(0)
    model = model_class(name)(dataset.vocabulary, dataset.axis, config.model)
    if model.is_trained_by_gradients:
        model.prepare(dataset.train, dataset.valid)
    queries, answers = Queries.from_facts(dataset.train, dataset.vocabulary)
    history = History(dataset.facts, dataset.vocabulary)
    batches = shuffled_batches(queries, config.training.batch_size, by_time=model.batch_by_time)[:NUM_BATCHES]
    asked, _ = Queries.from_facts(dataset.valid, dataset.vocabulary)
    scored = [batch for _, batch in asked.batches_in_time(default_batch_size(model))][:NUM_BATCHES]
    for count in map(int, threads.split(",")):
        torch.set_num_threads(count)
        about = f"{name} on {dataset.name} ({dataset.vocabulary.num_entities:,} entities), {count} threads"
        if model.is_trained_by_gradients:
            stepper = make_stepper(model, queries, answers, history, config.training)
            model.train()
            model.begin_epoch(1)
            print(f"{about}: step {measured(stepper.step, batches)}", flush=True)
        with torch.inference_mode(), evaluating(model):
            print(f"{about}: scoring {measured(lambda b: list(model.scores(b, history).blocks()), scored)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
