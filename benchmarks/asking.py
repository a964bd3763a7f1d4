"""Measure the time and the memory to answer many questions from a file.

    python benchmarks/asking.py --questions 100000
    python benchmarks/asking.py --run runs/icews14 --questions 100000

The questions are about random facts of the run's dataset, at random times around the end of the data. Every measurement
runs ``titer forecast --file`` in a separate process to measure its peak memory: once for a tenth of the questions and
once for all of them. Since answers are streamed, both should need the same memory.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

MEASURED = """
import json, resource, sys, time
from titer.cli.main import app
started = time.perf_counter()
app(sys.argv[1:], standalone_mode=False)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
print(json.dumps({"seconds": time.perf_counter() - started, "megabytes": peak}))
"""


def write_questions(run: Path, path: Path, count: int) -> None:
    """Write questions about random facts, at random times of the last tenth of the data and shortly after it."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv

    from titer import Run

    dataset = Run(run).dataset
    facts, axis = dataset.facts, dataset.axis
    generator = np.random.default_rng(0)
    chosen = facts[generator.integers(0, len(facts), count)]
    last = int(facts.time.max())
    first = last - (last - int(facts.time.min())) // 10
    labels = {step: axis.label(step) for step in range(first, last + 31)}
    names, relations = dataset.vocabulary.entities, dataset.vocabulary.relations
    asks_subject = generator.random(count) < 0.5
    columns = {
        "subject": ["?" if ask else names[s] for s, ask in zip(chosen.subject, asks_subject, strict=True)],
        "relation": [relations[r] for r in chosen.relation],
        "object": [names[o] if ask else "?" for o, ask in zip(chosen.object, asks_subject, strict=True)],
        "time": [labels[t] for t in generator.integers(first, last + 31, count).tolist()],
    }
    csv.write_csv(pa.table(columns), str(path))


def measure(*words: str | Path) -> dict[str, float]:
    """Run a command in a separate process, and return its time and peak memory."""
    command = [sys.executable, "-c", MEASURED, *map(str, words)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def main() -> None:
    """Train a model if no run is given, answer the questions, and print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=100_000, help="number of questions")
    parser.add_argument("--run", type=Path, help="run directory (default: train recurrency on the small world)")
    parser.add_argument("--top", type=int, default=10, help="answers per question")
    parser.add_argument("--explain", action="store_true", help="also write the evidence")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = options.run
        if run is None:
            run = Path(folder) / "run"
            measure("train", "small-world", "--model", "recurrency", "--out", run)
        print(f"{'questions':>9} {'answers':>8} {'seconds':>8} {'questions/s':>12} {'peak MB':>8} {'file MB':>8}")
        for count in (options.questions // 10, options.questions):
            questions = Path(folder) / f"questions-{count}.csv"
            write_questions(run, questions, count)
            for suffix in ("parquet", "csv", "jsonl"):
                out = Path(folder) / f"answers-{count}.{suffix}"
                explain = ["--explain"] if options.explain else []
                found = measure("forecast", run, "--file", questions, "--out", out, "--top", str(options.top), *explain)
                print(
                    f"{count:>9,} {suffix:>8} {found['seconds']:>8.1f} {count / found['seconds']:>12,.0f} "
                    f"{found['megabytes']:>8,.0f} {out.stat().st_size / 1e6:>8,.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
