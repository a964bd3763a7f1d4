"""The paper's main table from the evaluations of runs and from result files."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from titer.data.benchmarks import BENCHMARKS
from titer.errors import DataError
from titer.evaluation.published import DATASETS, METRICS, MODELS, published

CONVENTION = "paper"
"""The convention of the paper's figures, and so of those compared with them."""


@dataclass(frozen=True)
class Measured:
    """One evaluation of one trained model."""

    source: str
    found: dict[str, Any]
    """The evaluation with its settings, as ``metrics.json`` stores it."""
    conventions: dict[str, dict[str, Any]]
    """The metrics of the same answers by convention."""
    variant: str = ""
    """What distinguishes a result whose settings are not the published ones."""

    @classmethod
    def of_run(cls, source: str, found: dict[str, Any]) -> "Measured":
        """Read an evaluation stored in a run."""
        named = found["protocol"].get("convention")
        here = {named: found["metrics"]} if named else {}
        changed = ", ".join(f"{name}={value}" for name, value in found.get("changed", {}).items())
        return cls(source, found, {**found.get("other_conventions", {}), **here}, changed)

    @classmethod
    def of_result(cls, path: Path) -> "Measured":
        """Read a result file that ``titer reproduce`` wrote."""
        try:
            row = json.loads(path.read_text(encoding="utf-8"))
            protocol = {"convention": row["convention"], **row["protocol"]}
            found = {**row, "protocol": protocol, "queries": row["metrics"]["queries"]}
            published = f"{row['model']}/{row['dataset']['name'].lower()}"
            return cls(str(path), found, row["conventions"], "" if row["label"] == published else row["label"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{path} is not a result of titer reproduce: {error!r}") from error

    @property
    def title(self) -> str:
        """The source, with the settings that were changed for the evaluation."""
        return f"{self.source} with {self.variant}" if self.found.get("changed") else self.source

    @property
    def model(self) -> str:
        """The name of the model."""
        return self.found["model"]

    @property
    def dataset(self) -> dict[str, Any]:
        """Name, checksum and number of facts of the dataset."""
        return self.found["dataset"]

    @property
    def benchmark(self) -> str | None:
        """The paper's dataset it was measured on, or None. The sizes count too: other datasets share the names."""
        known = BENCHMARKS.get(self.dataset["name"])
        facts = tuple(self.dataset[split] for split in ("train", "valid", "test"))
        return known.name if known is not None and known.facts == facts else None


@dataclass(frozen=True)
class ModelResult:
    """The results of one model on one dataset over all runs, with the paper's figures."""

    dataset: str
    model: str
    measured: tuple[Measured, ...]

    def values(self, metric: str) -> list[float]:
        """Return one value per run, times a hundred."""
        return [100 * one.conventions[CONVENTION][metric] for one in self.measured]

    def published(self, metric: str) -> float | None:
        """Return the paper's figure; None for a dataset that is not the paper's."""
        return published(self.model, self.dataset, metric) if self.measured[0].benchmark else None

    @property
    def checksum(self) -> str:
        """The checksum of the dataset."""
        return self.measured[0].dataset["checksum"]

    @property
    def is_one_setting(self) -> bool:
        """Whether the runs differ only in their seeds and devices."""

        def decisive(settings: dict[str, Any]) -> dict[str, Any]:
            training = {k: v for k, v in settings.get("training", {}).items() if k not in ("seed", "device")}
            return {**settings, "training": training}

        first, *others = (decisive(one.found.get("config", {})) for one in self.measured)
        return all(other == first for other in others)


def standings(measured: Iterable[Measured]) -> list[ModelResult]:
    """Group evaluations by dataset and model, both in the order of the paper's table, others after them by name."""
    groups: dict[tuple[str, str, str], dict[str, Measured]] = {}
    for one in measured:
        if CONVENTION in one.conventions and not one.variant:
            group = groups.setdefault((one.dataset["name"], one.dataset["checksum"], one.model), {})
            group[one.source] = one  # a run that was evaluated twice is one run
    ordered = sorted(groups, key=lambda key: (_place(key[0], DATASETS), key[1], _place(key[2], MODELS)))
    return [ModelResult(dataset, model, tuple(groups[dataset, sum, model].values())) for dataset, sum, model in ordered]


def cell(values: Sequence[float]) -> str:
    """Return the mean, with the standard deviation of several values; a dash for no value."""
    if not values:
        return "–"
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def published_cell(value: float | None) -> str:
    """Return a figure of the paper, or a dash where it has none."""
    return "–" if value is None else f"{value:.2f}"


def main_table(of_one_dataset: Sequence[ModelResult]) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of the main table for one dataset."""
    header = ["model", *(name for title in METRICS.values() for name in (title, "paper"))]
    return header, [
        [one.model, *(text for m in METRICS for text in (cell(one.values(m)), published_cell(one.published(m))))]
        for one in of_one_dataset
    ]


def _place(name: str, order: Sequence[str]) -> tuple[int, str]:
    """Return a sort key: names of a given order first, others after them alphabetically."""
    return (order.index(name) if name in order else len(order), name)
