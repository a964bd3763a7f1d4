"""Runs side by side: repetitions of a method are one row, and methods are compared query by query."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from titer.errors import RunError
from titer.evaluation.bootstrap import PairedDifference, paired_difference
from titer.evaluation.comparison import Measured
from titer.runs.rank_files import load_ranks
from titer.runs.run import Run
from titer.runs.setting_differences import IRRELEVANT, differing, flat
from titer.training.layout import CONFIG

NEW_FACTS = "new_mrr"
"""The MRR of facts that were not true at the step before, beside the metrics of all facts."""


@dataclass(frozen=True)
class Method:
    """The evaluations of one model with one set of settings: one for each seed.

    Attributes:
        measured: The evaluations, all on the same data with the same protocol.
        settings: The settings in which the method differs from others of the same model, with their values.
    """

    measured: tuple[Measured, ...]
    settings: dict[str, Any]

    @property
    def first(self) -> Measured:
        """One of the evaluations."""
        return self.measured[0]

    @property
    def key(self) -> tuple[str, ...]:
        """What methods must have in common to be compared: data, split, protocol and number of queries."""
        found = self.first.found
        choices = {key: value for key, value in found["protocol"].items() if key != "convention"}
        return found["dataset"]["checksum"], found["split"], str(sorted(choices.items())), str(found["queries"])

    @property
    def title(self) -> str:
        """The source of a single evaluation, or how many there are."""
        if len(self.measured) == 1:
            return self.first.title
        return f"{Path(self.first.source).parent} ({len(self.measured)} runs)"

    def values(self, metric: str) -> list[float]:
        """Return a metric of every evaluation, times a hundred; empty if one of them does not have it."""
        found = [_metric(one.found, metric) for one in self.measured]
        return [100 * value for value in found if value is not None] if None not in found else []

    def reciprocal_ranks(self) -> NDArray[np.float64] | None:
        """Return the mean reciprocal rank of each query over all evaluations; None if the runs have not kept them."""
        ranks = [_ranks(one) for one in self.measured]
        known = [1 / one.astype(np.float64) for one in ranks if one is not None]
        return np.mean(known, axis=0) if len(known) == len(ranks) else None

    def to_dict(self, difference: PairedDifference | None = None) -> dict[str, Any]:
        """Return the method for JSON.

        Args:
            difference: The difference from the first method of the same data and protocol.
        """
        names = [*self.first.found["metrics"], NEW_FACTS]
        return {
            "model": self.first.model,
            "runs": [one.source for one in self.measured],
            "settings": self.settings,
            **{key: self.first.found[key] for key in ("dataset", "split", "protocol", "queries")},
            "metrics": {name: _summary([_metric(one.found, name) for one in self.measured]) for name in names},
            "difference": difference.to_dict() if difference is not None else None,
        }


def find_runs(path: Path) -> list[Path]:
    """Return a run directory itself, or the run directories directly in a folder.

    Raises:
        RunError: If there is none.
    """
    if (path / CONFIG).is_file():
        return [path]
    found = sorted(file.parent for file in path.glob(f"*/{CONFIG}"))
    if not found:
        raise RunError(f"{path} is not a run directory, and holds none")
    return found


def methods(measured: Iterable[Measured]) -> list[Method]:
    """Group evaluations whose runs differ in nothing but their seeds and devices.

    Args:
        measured: Evaluations of runs, or result files.

    Returns:
        The methods, in the order of their first evaluations.
    """
    groups: dict[tuple[object, ...], list[Measured]] = {}
    for one in measured:
        groups.setdefault((_group(one), one.variant), []).append(one)
    by_model: dict[str, list[dict[str, Any]]] = {}
    for found in groups.values():
        by_model.setdefault(found[0].model, []).append(found[0].found.get("config", {}))
    made = []
    for found in groups.values():
        names = [name for name in differing(by_model[found[0].model]) if name not in IRRELEVANT]
        own = flat(found[0].found.get("config", {}))
        made.append(Method(tuple(found), {name: own.get(name) for name in names}))
    return made


def differences_from_first(found: Sequence[Method]) -> list[PairedDifference | None]:
    """Return the difference of each method's MRR from that of the first one with the same data and protocol.

    Args:
        found: The methods.

    Returns:
        A difference for each method; None for the first one of each group, and where ranks are missing.
    """
    first: dict[tuple[str, ...], NDArray[np.float64] | None] = {}
    differences: list[PairedDifference | None] = []
    for method in found:
        ranks = method.reciprocal_ranks()
        if method.key not in first:
            first[method.key] = ranks
            differences.append(None)
            continue
        reference = first[method.key]
        if ranks is None or reference is None:
            differences.append(None)
        else:
            differences.append(paired_difference(ranks, reference))
    return differences


def _group(one: Measured) -> str:
    settings = {name: value for name, value in flat(one.found.get("config", {})).items() if name not in IRRELEVANT}
    found = one.found
    return repr((one.model, found["dataset"]["checksum"], sorted(found["protocol"].items(), key=str), settings))


def _metric(found: dict[str, Any], name: str) -> float | None:
    if name == NEW_FACTS:
        return found.get("breakdown", {}).get("novelty", {}).get("new", {}).get("mrr")
    return found["metrics"].get(name)


def _summary(values: list[float | None]) -> dict[str, Any] | None:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return {"mean": mean(known), "deviation": stdev(known) if len(known) > 1 else None, "values": known}


def _ranks(one: Measured) -> NDArray[np.float32] | None:
    path = Path(one.source)
    return load_ranks(Run(path).ranks_path(one.found), one.found["queries"]) if (path / CONFIG).is_file() else None
