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
    other_questions: Rows = field(default_factory=dict)
    """Results of a model that knows the other questions, by dataset and knowledge, from ``other_questions/``."""
    case_study: Row = field(default_factory=dict)
    """The queries of the paper's case study, from ``case_study.json``; empty if they were not explained yet."""
    scale: dict[str, Row] = field(default_factory=dict)
    """Cost by number of facts, from ``scale/``."""
    notes: dict[str, Row] = field(default_factory=dict)
    """Figures without a result file, with their sources, from ``notes/``."""
    events: list[Row] = field(default_factory=list)
    """Evaluations of event forecasts, one file for each run and split, from ``events/``."""
    tgb: list[Row] = field(default_factory=list)
    """Time and memory on data of the sizes of TGB 2.0, one file for each dataset and model, from ``tgb_sizes/``."""
    ray: dict[str, Row] = field(default_factory=dict)
    """Throughput of batch jobs by run, from ``ray/``."""
    campaigns: dict[str, Row] = field(default_factory=dict)
    """Results of long campaigns by name, from ``campaigns/``."""
    checksums: Row = field(default_factory=dict)
    """Cost of checksums, from ``checksums.json``; empty if it was not measured yet."""
    action_weights: dict[str, Row] = field(default_factory=dict)
    """What the weights of TITer's actions do in a trained model, by dataset and seed, from ``action_weights/``."""
    trials: dict[tuple[str, str], list[Row]] = field(default_factory=dict)
    """Results of what was tried, by label and split, from ``trials/``."""

    @classmethod
    def load(cls, folder: Path = BENCHMARKS) -> "Measurements":
        """Read all files."""
        return cls(
            _results(folder / "results"),
            {f"{row['model']}/{row['dataset'].lower()}": row for row in _all(folder / "sizes").values()},
            {row["name"]: row for row in _all(folder / "datasets").values()},
            _all(folder / "faithfulness"),
            {row["model"]: row for row in _all(folder / "small_world").values()},
            _results(folder / "other_questions"),
            _all(folder).get("case_study", {}),
            _all(folder / "scale"),
            _all(folder / "notes"),
            list(_all(folder / "events").values()),
            list(_all(folder / "tgb_sizes").values()),
            _all(folder / "ray"),
            _all(folder / "campaigns"),
            _all(folder).get("checksums", {}),
            _all(folder / "action_weights"),
            {
                (label, split): rows
                for split in ("valid", "test")
                for label, rows in _results(folder / "trials", split).items()
            },
        )

    def of(self, label: str) -> list[Row]:
        """Return the results with a label, ordered by seed; none if there are none."""
        return self.rows.get(label, [])

    def with_knowledge(self, dataset: str, known: str) -> list[Row]:
        """Return the results of the path mixture with some knowledge of the other questions.

        Without any, the model is the path mixture itself, so its results count. They are shown only beside others.
        """
        label = dataset.lower()
        if known != "nothing":
            return self.other_questions.get(f"{label}/{known}", [])
        measured = any(name.startswith(f"{label}/") for name in self.other_questions)
        return self.of(f"path_mixture/{label}") if measured else []


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


def _results(folder: Path, split: str = "test") -> Rows:
    """Return the results on a split by label, ordered by seed."""
    rows: Rows = defaultdict(list)
    for row in sorted(_all(folder).values(), key=lambda row: row["seed"]):
        if row["split"] == split:
            rows[row["label"]].append(row)
    return dict(rows)


def _all(folder: Path) -> dict[str, Any]:
    """Return the content of every JSON file of a folder by the name of the file."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
