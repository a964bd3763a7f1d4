"""Measure the time and the memory to import and to index many facts.

    python benchmarks/scale.py --facts 10000000

Facts are generated as a CSV file with names and dates. Each stage runs in a separate process to measure its peak
memory.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NUM_ENTITIES = 100_000
NUM_RELATIONS = 200
NUM_DAYS = 3650
CHUNK = 500_000


def generate(path: Path, num_facts: int) -> None:
    """Write random facts; as in real data, some entities have far more facts than others."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv

    generator = np.random.default_rng(0)
    entities = pa.array([f"Entity number {i}" for i in range(NUM_ENTITIES)])
    relations = pa.array([f"Relation {i}" for i in range(NUM_RELATIONS)])
    days = pa.array(np.datetime_as_string(np.datetime64("2010-01-01") + np.arange(NUM_DAYS)).tolist())
    schema = pa.schema([(name, pa.string()) for name in ("subject", "relation", "object", "time")])
    with csv.CSVWriter(str(path), schema) as writer:
        for start in range(0, num_facts, CHUNK):
            size = min(CHUNK, num_facts - start)
            busy = (NUM_ENTITIES * generator.random((2, size)) ** 3).astype(np.int64)
            columns = [
                entities.take(pa.array(busy[0])),
                relations.take(pa.array(generator.integers(0, NUM_RELATIONS, size))),
                entities.take(pa.array(busy[1])),
                days.take(pa.array(generator.integers(0, NUM_DAYS, size))),
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def import_facts(source: Path, out: Path) -> dict[str, float]:
    """Import the CSV file into a dataset folder."""
    from titer.data.importing import import_dataset

    dataset = import_dataset(source, out)
    return {"facts": len(dataset.facts)}


def index_facts(folder: Path) -> dict[str, float]:
    """Open the dataset folder, build the history, and look up the latest edges of random entities."""
    import torch

    from titer import History, load_dataset

    opened = time.perf_counter()
    dataset = load_dataset(folder)
    facts = dataset.facts
    started = time.perf_counter()
    history = History(facts, dataset.vocabulary)
    built = time.perf_counter()
    entities = torch.randint(0, dataset.vocabulary.num_entities, (10_000,))
    times = torch.randint(0, NUM_DAYS, (10_000,))
    history.latest(entities, times, 50)
    return {
        "open_seconds": started - opened,
        "index_seconds": built - started,
        "bytes_per_edge": history.num_bytes / history.num_edges,
        "latest_50_queries_per_second": 10_000 / (time.perf_counter() - built),
    }


STAGES = {"import": import_facts, "index": index_facts}


def stage(name: str, *arguments: Path) -> dict[str, float]:
    """Run one stage in a separate process."""
    command = [sys.executable, __file__, "--stage", name, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main() -> None:
    """Generate the facts, run the stages, and print their measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, default=10_000_000, help="number of facts")
    parser.add_argument("--stage", choices=STAGES, help="run one stage on PATHS (used internally)")
    parser.add_argument("paths", nargs="*", type=Path)
    options = parser.parse_args()
    if options.stage:
        started = time.perf_counter()
        result = STAGES[options.stage](*options.paths)
        result["seconds"] = time.perf_counter() - started
        result["peak_gigabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
        print(json.dumps(result))
        return
    with tempfile.TemporaryDirectory() as folder:
        source, dataset = Path(folder) / "facts.csv", Path(folder) / "dataset"
        generate(source, options.facts)
        print(f"generated {options.facts:,} facts, {source.stat().st_size / 1e6:,.0f} MB of CSV", flush=True)
        for name, arguments in (("import", (source, dataset)), ("index", (dataset,))):
            for key, value in stage(name, *arguments).items():
                print(f"{name:>7}  {key:<30} {value:>16,.2f}", flush=True)


if __name__ == "__main__":
    main()
