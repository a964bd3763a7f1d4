"""Write the facts of a store to a file that can be added again."""

import csv
import json
from pathlib import Path

from titer.data.facts import COLUMNS
from titer.errors import DataError
from titer.files import atomic_path
from titer.files.cells import spreadsheet_safe
from titer.store.facts import FactStore


def export_facts(store: FactStore, path: Path, *, raw_csv: bool = False) -> int:
    """Write all facts of a store, in the order of their addition.

    Args:
        store: The fact store.
        path: A file whose name ends in ``.csv`` or ``.jsonl``.
        raw_csv: Write names as they are, also those that a spreadsheet would run as formulas.

    Returns:
        The number of facts.

    Raises:
        DataError: If the name of the file has another ending.
        StoreError: If the database cannot be used.
    """
    if path.suffix.lower() not in (".csv", ".jsonl"):
        raise DataError(f"{path}: added facts are written as .csv or .jsonl; choose such a name")
    facts = store.since(0)
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        rows = ([*fact[:3], store.dataset.axis.label(fact.step)] for _, fact, _ in facts)
        if path.suffix.lower() == ".jsonl":
            file.writelines(json.dumps(dict(zip(COLUMNS, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)
        else:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(row if raw_csv else map(spreadsheet_safe, row) for row in rows)
    return len(facts)
