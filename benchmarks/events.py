"""Evaluate the event forecasts of a run, and write a result file.

    python benchmarks/events.py RUN --split test --horizon 1 7 30 --out benchmarks/events
    python benchmarks/events.py RUN --split valid --set num_rows=1000000 members=2
    python benchmarks/events.py RUN --time

Without ``--set`` the event model of the run is used, and trained first if it has none. With it, one with other settings
is trained and not kept. ``--time`` measures how long a forecast of all facts and of the top 1,000 events takes, and the
memory; train the event model before, so that its training does not count.
"""

import argparse
import json
import resource
import shlex
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from titer import Run
from titer.counted import counted
from titer.events.config import EventConfig
from titer.events.evaluate import EventEvaluation, evaluate_events
from titer.events.model import EventModel
from titer.graph.history import History
from titer.models.base import Model
from titer.runs.events import event_model, record_events
from titer.runs.provenance import provenance

SHOWN = ("average_precision", "precision_at_n", "brier_skill", "log_score", "expected_per_event")


def described(run: Run, model: Model, split: str, seed: int) -> dict[str, Any]:
    """Return what made the numbers: the same fields as in ``benchmarks/results``."""
    data = run.dataset
    sizes = {name: len(facts) for name, facts in data.splits.items()}
    return {
        "label": f"{run.config.model_name}/{data.name.lower()}",
        "model": run.config.model_name,
        "dataset": {"name": data.name, "checksum": data.checksum, "entities": data.vocabulary.num_entities, **sizes},
        "split": split,
        "seed": seed,
        "config": run.config.to_dict(),
        "command": shlex.join(["python", *sys.argv]),
        **provenance(model.device),
    }


def show(found: EventEvaluation) -> None:
    """Print the main numbers of an evaluation."""
    for kind, rows in (("step", found.at_step), ("window", found.in_window)):
        for name, metrics in rows.items():
            numbers = " ".join(f"{key} {getattr(metrics, key):.4f}" for key in SHOWN)
            print(f"{found.dataset.name} {found.split} {kind} {found.horizon} {name}: {numbers}", end=" ")
            worst = metrics.worst_bin()
            print(f"worst_bin {'–' if worst is None else f'{worst:.3f}'} new {metrics.average_precision_new:.4f}")
    for name, waiting in found.waiting.items():
        print(f"  when {name}: crps {waiting.crps:.3f} median error {waiting.median_error:.3f}")


def measure_time(events: EventModel, model: Model, run: Run) -> dict[str, float]:
    """Return the seconds of a first forecast, which builds the indexes, and of one for the next time step."""
    facts = run.dataset.facts
    seconds = {}
    history = History(facts, run.dataset.vocabulary).to(model.device)
    last = int(facts.time.max())
    for name, step in (("first", last), ("next", last + 1)):
        started = time.perf_counter()
        listed = events.forecast(events.indexed(history).index, events.origin(model, history, step), 1, 1)
        best = listed.probability.topk(min(1000, len(listed))).values.tolist()
        seconds[name] = round(time.perf_counter() - started, 3)
        print(
            f"{name} forecast: {seconds[name]} s, {len(listed):,} candidates, {sum(best):.1f} events in the first 1,000"
        )
    return seconds


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--split", default="valid", choices=("valid", "test"))
    parser.add_argument("--horizon", type=int, nargs="+", default=[1, 7])
    parser.add_argument("--until", help="last step to evaluate, such as the last complete one")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="fields of EventConfig")
    parser.add_argument("--out", type=Path, help="folder for a result file")
    parser.add_argument("--time", action="store_true", help="measure the time of a forecast")
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    run = Run(arguments.run)
    model = run.load_model(arguments.device)
    until = None if arguments.until is None else run.dataset.axis.step(arguments.until)
    changes = {
        name: float(value) if "." in value else int(value) for name, value in (s.split("=") for s in arguments.set)
    }
    started = time.perf_counter()
    if changes:
        config = EventConfig(**{"seed": run.config.training.seed, **changes})
        events = EventModel(run.dataset.vocabulary, run.dataset.axis, config).fit(run.dataset, model)
    else:
        events = event_model(run, model)
    fitted = round(time.perf_counter() - started, 2)
    print(f"{run.path.name} {' '.join(arguments.set)}: event model ready after {fitted} s")
    result: dict[str, Any] = {
        **described(run, model, arguments.split, events.config.seed),
        "event_config": asdict(events.config),
        "fit_seconds": fitted,
        **({} if until is None else {"until": arguments.until}),
        "evaluations": [],
    }
    for horizon in [] if arguments.time else arguments.horizon:
        found = evaluate_events(
            events, model, run.dataset, arguments.split, horizon, until=until, waiting=horizon == 1, quiet=True
        )
        show(found)
        result["evaluations"].append(found.to_dict())
        if not changes and until is None:
            record_events(run, found)
    if arguments.time:
        result["forecast_seconds"] = measure_time(events, model, run)
        result["threads"] = torch.get_num_threads()
        result["gigabytes"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 3)
        print(f"at most {result['gigabytes']} GiB of memory, {counted(result['threads'], 'CPU thread')}")
    if model.device.type == "cuda":
        result["gpu_gigabytes"] = round(torch.cuda.max_memory_reserved(model.device) / 2**30, 3)
        print(f"at most {result['gpu_gigabytes']} GiB of GPU memory")
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        part = f"time-{model.device.type}" if arguments.time else arguments.split
        part += "" if until is None else f"-until-{arguments.until}"
        name = f"{run.config.model_name}-{run.dataset.name.lower()}-{part}"
        path = arguments.out / f"{name}-seed{events.config.seed}.json"
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
