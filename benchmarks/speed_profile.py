"""Profile the optimisation steps and the evaluation of a model: speed, CPU time, kernels, waits and memory.

    python benchmarks/speed_profile.py data/ICEWS14 --config src/titer/configs/path_mixture/icews14.toml
    python benchmarks/speed_profile.py --generate 1200000 1000 10000000 2000 --model path_mixture

CPU time is the smallest of several repetitions of the same batches, so that other programs on the machine matter less.
On a GPU, the profiler of torch counts the kernels of a step and the calls that wait for the GPU.
"""

import argparse
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch

from titer import History, Queries, load_dataset
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.evaluation.evaluate import evaluate_task
from titer.evaluation.task import EvaluationTask
from titer.models.registry import model_class
from titer.training.config import Config
from titer.training.device import choose_device
from titer.training.steps import Stepper, make_stepper

WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpy")
LAUNCHES = ("cudaLaunchKernel", "cuLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernelEx")


def generate(num_entities: int, num_relations: int, num_facts: int, num_steps: int) -> Dataset:
    """Return random facts like those of event data: few busy entities, and series that repeat."""
    generator = np.random.default_rng(0)
    num_series = max(num_facts // 4, 1)
    popularity = generator.random((2, num_series)) ** 3
    subject, object = (num_entities * popularity).astype(np.int64)
    relation = (num_relations * generator.random(num_series) ** 3).astype(np.int64)
    # A few series account for most facts, as in a process where each fact repeats an earlier one or begins a series.
    series = (num_series * generator.random(num_facts) ** 2).astype(np.int64)
    when = np.sort(generator.integers(0, num_steps, num_facts))
    facts = Facts.from_rows(np.stack([subject[series], relation[series], object[series], when], axis=1))
    cut = [int(0.9 * num_facts), int(0.95 * num_facts)]
    vocabulary = Vocabulary.numbered(num_entities, num_relations)
    name = f"generated-{num_entities}-{num_facts}"
    return Dataset(name, vocabulary, TimeAxis(), facts[: cut[0]], facts[cut[0] : cut[1]], facts[cut[1] :])


def wait_for(device: torch.device) -> None:
    """Wait until the device has finished all queued work."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def measure_training(stepper: Stepper, batches: list[torch.Tensor], repeats: int) -> tuple[float, float]:
    """Return queries per second, and the CPU time of an optimisation step in seconds."""
    device, best = stepper.model.device, [float("inf")] * len(batches)
    started = time.perf_counter()
    for _ in range(repeats):
        for i, rows in enumerate(batches):
            before = time.process_time()
            stepper.step(rows)
            best[i] = min(best[i], time.process_time() - before)
    wait_for(device)
    seconds = (time.perf_counter() - started) / repeats
    return sum(map(len, batches)) / seconds, sum(best) / len(batches)


def profile_steps(stepper: Stepper, batches: list[torch.Tensor]) -> None:
    """Print what the GPU and the host do in an optimisation step."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        for rows in batches:
            stepper.step(rows)
        torch.cuda.synchronize()
    calls = Counter({event.key: event.count for event in profiler.key_averages()})
    steps = len(batches)
    print(f"  launches per step       {sum(calls[name] for name in LAUNCHES) / steps:>12.0f}")
    print(f"  waits per step          {sum(calls[name] for name in WAITS) / steps:>12.1f}")
    for name in ("aten::nonzero", "aten::item", "aten::unique_dim", "aten::_unique2", "aten::repeat_interleave"):
        print(f"    {name:<22}{calls[name] / steps:>12.1f}")
    gpu = sum(event.self_device_time_total for event in profiler.key_averages()) / steps
    print(f"  GPU time per step       {gpu / 1000:>12.2f} ms")
    print(profiler.key_averages().table(sort_by="self_device_time_total", row_limit=12, max_name_column_width=60))


def main() -> None:
    """Train, evaluate, and print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", nargs="?", help="dataset folder or benchmark name")
    parser.add_argument("--generate", nargs=4, type=int, metavar=("ENTITIES", "RELATIONS", "FACTS", "STEPS"))
    parser.add_argument("--model", default=None, help="name of the model, if the configuration does not give it")
    parser.add_argument("--config", type=Path, help="TOML file with settings")
    parser.add_argument("--set", action="append", default=[], help="TABLE.KEY=VALUE: change one setting")
    parser.add_argument("--batches", type=int, default=20, help="optimisation steps to measure")
    parser.add_argument("--repeats", type=int, default=3, help="how often the same batches are measured")
    parser.add_argument("--queries", type=int, default=8000, help="validation queries to evaluate")
    parser.add_argument("--profile", action="store_true", help="count kernels and waits on a GPU")
    options = parser.parse_args()
    config = Config.load(options.config, options.model, options.set)
    device = choose_device(config.training.device)
    dataset = generate(*options.generate) if options.generate else load_dataset(options.dataset)
    torch.manual_seed(0)
    model = model_class(config.model_name)(dataset.vocabulary, dataset.axis, config.model)
    model.prepare(dataset.train, dataset.valid)
    model.to(device)
    began = time.perf_counter()
    history = History(dataset.train, dataset.vocabulary).to(device)
    if config.model_name == "path_mixture":
        _ = history.pair_index
    wait_for(device)
    indexed = time.perf_counter() - began
    stepper = make_stepper(model, *Queries.from_facts(dataset.train, dataset.vocabulary), history, config.training)
    model.train()
    torch.manual_seed(1)
    batches = stepper.batches()
    # Three passes: what is kept or recorded, is kept or recorded after them.
    for rows in 3 * batches[: options.batches]:
        stepper.step(rows)
    stepper.averages()
    wait_for(device)
    speed, cpu_time = measure_training(stepper, batches[: options.batches], options.repeats)
    size = sum(map(len, batches[: options.batches])) / len(batches[: options.batches])
    name = torch.cuda.get_device_name() if device.type == "cuda" else f"{torch.get_num_threads()} CPU threads"
    print(f"{config.model_name} on {dataset.name}, {name}")
    print(f"  indexing                {indexed:>12.2f} s")
    print(f"  training                {speed:>12,.0f} queries/s, {size:.0f} queries per step")
    print(f"  CPU time per step       {1000 * cpu_time:>12.1f} ms, {size / cpu_time:,.0f} queries per CPU second")
    if device.type == "cuda":
        print(f"  peak memory, training   {torch.cuda.max_memory_allocated() / 1e9:>12.2f} GB")
        torch.cuda.reset_peak_memory_stats()
        if options.profile:
            profile_steps(stepper, batches[:5])
    task = EvaluationTask(dataset, "valid", device=device)
    task.queries, task.answers = task.queries[: options.queries], task.answers[: options.queries]
    evaluate_task(model, task, quiet=True)  # builds the indexes
    started, before = time.perf_counter(), time.process_time()
    found = evaluate_task(model, task, quiet=True)
    seconds, cpu_time = time.perf_counter() - started, time.process_time() - before
    print(f"  evaluation              {len(found.queries) / seconds:>12,.0f} queries/s, MRR {found.metrics().mrr:.4f}")
    print(f"  CPU time                {len(found.queries) / cpu_time:>12,.0f} queries per CPU second")
    if device.type == "cuda":
        print(f"  peak memory, evaluation {torch.cuda.max_memory_allocated() / 1e9:>12.2f} GB")


if __name__ == "__main__":
    main()
