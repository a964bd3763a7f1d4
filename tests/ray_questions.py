"""Files of questions about the dataset of a run."""

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from titer.runs.run import Run


def write_questions(folder: Path, run: Path, *, num_files: int, num_rows: int) -> None:
    """Write Parquet files of questions about the latter half of a dataset, some of them invalid."""
    dataset, chosen = Run(run).dataset, random.Random(0)
    times = [dataset.axis.label(step) for step in range(dataset.facts.time.max() // 2, dataset.facts.time.max() + 3)]
    folder.mkdir(parents=True)
    for file in range(num_files):
        rows = [
            {
                "id": file * num_rows + row,
                "subject": chosen.choice([*dataset.vocabulary.entities, "unknown"]),
                "relation": chosen.choice(dataset.vocabulary.relations),
                "time": chosen.choice([*times, None]),
            }
            for row in range(num_rows)
        ]
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{file}.parquet")
