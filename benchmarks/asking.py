"""How long many questions take to answer from a file, and how much memory that needs.

    python benchmarks/asking.py --questions 100000
    python benchmarks/asking.py --run runs/icews14 --questions 100000

Asks about the facts of a run's dataset over and over, each at a time of its own around the end of the data. Every
measurement runs ``titer forecast --file`` in a process of its own, so that its peak memory is its own: once for a
tenth of the questions and once for all of them. What streams needs as much memory for both.
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
    """Both questions of random facts, at random times of the last tenth of the data and shortly after it."""
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
    """Run a command in a process of its own."""
    command = [sys.executable, "-c", MEASURED, *map(str, words)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def main() -> None:
    """Train if there is no run, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--run", type=Path, help="a run directory; by default recurrency on the small world")
    parser.add_argument("--top", type=int, default=10)
    parser.add_argument("--explain", action="store_true")
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
