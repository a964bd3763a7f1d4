"""Measure the speed of training and testing, the time of the set-up, and the memory.

    python benchmarks/speed.py data/ICEWS14 --config src/titer/configs/titer/icews14.toml

Training is measured over fifty batches: as in the first epoch, and as in later epochs, when plans are kept and steps
are recorded. Testing is measured over the test split. The set-up is everything before the first optimisation step, and
on a GPU also recording that step.
"""

import argparse
import resource
import time
from pathlib import Path

import torch

from titer import History, Queries, evaluate, load_dataset
from titer.models.registry import model_class
from titer.training.config import Config
from titer.training.device import choose_device
from titer.training.steps import make_stepper


def synchronise(device: torch.device) -> None:
    """Wait until the device has finished all queued work."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    """Train, test, and print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", help="dataset folder or benchmark name")
    parser.add_argument("--model", default=None, help="name of the model, if the configuration does not give it")
    parser.add_argument("--config", type=Path, help="TOML file with settings")
    parser.add_argument("--set", action="append", default=[], help="TABLE.KEY=VALUE: change one setting")
    parser.add_argument("--seconds", type=float, default=10, help="minimum duration of the training measurement")
    parser.add_argument("--test-batch", type=int, default=None, help="queries per batch in testing")
    parser.add_argument("--test-questions", type=int, default=0, help="number of test queries; 0 for all")
    options = parser.parse_args()
    config = Config.load(options.config, options.model, options.set)
    device = choose_device(config.training.device)
    dataset = load_dataset(options.dataset)
    # Starts CUDA and loads the optimisers of torch before the measurement.
    torch.optim.Adam([torch.zeros(1, device=device, requires_grad=True)])

    began = time.perf_counter()
    torch.manual_seed(0)
    model = model_class(config.model_name)(dataset.vocabulary, dataset.axis, config.model)
    model.prepare(dataset.train, dataset.valid)
    prepared = time.perf_counter()
    model.to(device)
    indexing = time.perf_counter()
    history = History(dataset.train, dataset.vocabulary).to(device)
    stepper = make_stepper(model, *Queries.from_facts(dataset.train, dataset.vocabulary), history, config.training)
    size, batches = config.training.batch_size, stepper.batches()
    if model.has_static_shapes:
        batches = [rows for rows in batches if len(rows) == size]  # a smaller last batch is not replayed
    recording = time.perf_counter()
    for rows in batches[:8]:
        stepper.step(rows)
    synchronise(device)
    ready = time.perf_counter()

    # Two more passes: what is kept or recorded, is kept or recorded after them.
    first = []
    for _ in range(2):
        started = time.perf_counter()
        for rows in batches[8:58]:
            stepper.step(rows)
        synchronise(device)
        first.append(time.perf_counter() - started)
    first_epoch = sum(len(rows) for rows in batches[8:58]) / first[0]
    trained, started = 0, time.perf_counter()
    while time.perf_counter() - started < options.seconds:
        for rows in batches[8:58]:
            stepper.step(rows)
        synchronise(device)
        trained += sum(len(rows) for rows in batches[8:58])
    training = trained / (time.perf_counter() - started)

    if options.test_questions:
        dataset = type(dataset)(
            dataset.name, dataset.vocabulary, dataset.axis, dataset.train, dataset.valid,
            dataset.test[: options.test_questions // 2],
        )  # fmt: skip
    evaluate(model, dataset, "test", batch_size=options.test_batch)  # warm up
    found = evaluate(model, dataset, "test", batch_size=options.test_batch)
    name = torch.cuda.get_device_name() if device.type == "cuda" else f"{torch.get_num_threads()} CPU threads"
    host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(f"{config.model_name} on {dataset.name}, {name}")
    print(f"  set-up                  {ready - began:>12.2f} s")
    print(f"    counting              {prepared - began:>12.2f} s")
    print(f"    indexing              {recording - indexing:>12.2f} s")
    print(f"    first eight steps     {ready - recording:>12.2f} s, on a GPU including compiling and recording")
    print(f"  training                {training:>12,.0f} queries/s")
    print(f"    first epoch           {first_epoch:>12,.0f} queries/s")
    print(
        f"  testing                 {len(found.queries) / found.seconds:>12,.0f} queries/s, with indexing and ranking"
    )
    print(f"  peak memory, host       {host:>12.2f} GB")
    if device.type == "cuda":
        print(f"  peak memory, GPU        {torch.cuda.max_memory_allocated() / 1e9:>12.2f} GB")


if __name__ == "__main__":
    main()
