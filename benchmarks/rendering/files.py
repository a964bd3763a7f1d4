"""The files that results are rendered from."""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parents[1]
Row = dict[str, Any]
Rows = dict[str, list[Row]]
"""Results by label, such as ``titer/icews14``, each ordered by seed."""


@dataclass(frozen=True)
class Measurements:
    """Everything that was measured, as the files in ``benchmarks`` have it."""

    rows: Rows
    """Results on the test split, from ``results/``."""
    sizes: dict[str, Row] = field(default_factory=dict)
    """Parameters and multiply-adds by label, from ``sizes/``."""
    datasets: dict[str, Row] = field(default_factory=dict)
    """Statistics by the name of the dataset, from ``datasets/``."""
    faithfulness: dict[str, list[Row]] = field(default_factory=dict)
    """Faithfulness of evidence by dataset, from ``faithfulness/``."""
    small_world: dict[str, Row] = field(default_factory=dict)
    """Results on the small world by model, from ``small_world/``."""
    notes: dict[str, Row] = field(default_factory=dict)
    """Figures without a result file, with their sources, from ``notes/``."""

    @classmethod
    def load(cls, folder: Path = BENCHMARKS) -> "Measurements":
        """Read all files."""
        rows: Rows = defaultdict(list)
        for row in _all(folder / "results").values():
            if row["split"] == "test":
                rows[row["label"]].append(row)
        return cls(
            {label: sorted(of_one, key=lambda row: row["seed"]) for label, of_one in rows.items()},
            {f"{row['model']}/{row['dataset'].lower()}": row for row in _all(folder / "sizes").values()},
            {row["name"]: row for row in _all(folder / "datasets").values()},
            _all(folder / "faithfulness"),
            {row["model"]: row for row in _all(folder / "small_world").values()},
            _all(folder / "notes"),
        )

    def of(self, label: str) -> list[Row]:
        """Return the results with a label, ordered by seed; none if there are none."""
        return self.rows.get(label, [])


def changed_settings(before: Row, after: Row) -> Row:
    """Return the settings of a result that another result had with other values; the seed does not count."""
    tables = [(table, after["config"][table], before["config"][table]) for table in ("model", "training")]
    return {
        f"{table}.{key}": value
        for table, new, old in tables
        for key, value in new.items()
        # Older files lack settings that were added later.
        if key != "seed" and key in old and old[key] != value
    }


def _all(folder: Path) -> dict[str, Any]:
    """Return the content of every JSON file of a folder by the name of the file."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
