"""Our results beside the published ones of other systems."""

from typing import Any

from rendering.files import Measurements
from rendering.markdown import NOTHING, metric_cells, metrics_of, percent, seeds, table
from titer.evaluation.published import DATASETS, METRICS

SECOND = "ICEWS14-RE-GCN"
ALL = ("ICEWS14", SECOND, "ICEWS18", "WIKI", "YAGO")
System = dict[str, Any]


def systems(measured: Measurements) -> list[System]:
    """Return the published systems."""
    return measured.notes["other_systems"]["systems"]


def best(measured: Measurements, dataset: str, *, with_code: bool = False) -> System | None:
    """Return the system with the highest published MRR on a dataset, among all or those with public code."""
    found = [one for one in systems(measured) if dataset in one["mrr"] and (one["code"] == "yes" or not with_code)]
    return max(found, key=lambda one: one["mrr"][dataset], default=None)


def best_cells(measured: Measurements, *, with_code: bool) -> list[str]:
    """Return the best published MRR on every dataset of the paper, with the name and the year of the system."""
    found = [(dataset, best(measured, dataset, with_code=with_code)) for dataset in DATASETS]
    return [f"{one['mrr'][dataset]:.2f} ({one['name']}, {one['year']})" if one else NOTHING for dataset, one in found]


def best_published(measured: Measurements) -> list[str]:
    """Return the best published MRR on each dataset, beside that of the path mixture, and the sources."""
    ours = [
        percent([metrics_of(row)["mrr"] for row in measured.of(f"path_mixture/{dataset.lower()}")])
        for dataset in DATASETS
    ]
    lines = [
        ["`path_mixture`", *ours],
        ["best published", *best_cells(measured, with_code=False)],
        ["best published, with public code", *best_cells(measured, with_code=True)],
    ]
    shown = [best(measured, dataset, with_code=with_code) for with_code in (False, True) for dataset in DATASETS]
    return [*table(["", *DATASETS], lines), "", *_sources(measured, [one for one in shown if one])]


def second_icews14_table(measured: Measurements) -> list[str]:
    """Return our results on the second split of ICEWS14 and the published ones, best first, with their sources."""
    endings = {f"/{SECOND.lower()}": "", f"/{SECOND.lower()}-no-names": ", without names"}
    found = {
        f"`{name.removesuffix(ending)}`{words}": rows
        for ending, words in endings.items()
        for name, rows in measured.rows.items()
        if name.endswith(ending)
    }
    ordered = sorted(found, key=lambda title: -max(metrics_of(row)["mrr"] for row in found[title]))
    lines = [[title, *metric_cells(found[title]), seeds(found[title]), "this project"] for title in ordered]
    published = sorted((one for one in systems(measured) if SECOND in one["mrr"]), key=lambda one: -one["mrr"][SECOND])
    dashes = [NOTHING] * (len(METRICS) - 1)
    lines += [[one["name"], f"{one['mrr'][SECOND]:.2f}", *dashes, NOTHING, _cited(one)] for one in published]
    return [*table(["", *METRICS.values(), "seeds", "source"], lines), "", *_sources(measured, published)]


def other_systems_table(measured: Measurements) -> list[str]:
    """Return all published figures of other systems, with their sources."""
    lines = [
        [
            one["name"],
            *(f"{one['mrr'][dataset]:.2f}" if dataset in one["mrr"] else NOTHING for dataset in ALL),
            one["code"] + (f": {one['remark']}" if "remark" in one else ""),
            _cited(one),
        ]
        for one in systems(measured)
    ]
    return [*table(["", *ALL, "code", "source"], lines), "", *_sources(measured, systems(measured))]


def _cited(system: System) -> str:
    """Return the key of a system's source."""
    return system["source"]


def _sources(measured: Measurements, shown: list[System]) -> list[str]:
    """Return the references of some systems, each once."""
    references = measured.notes["other_systems"]["sources"]
    return [f"- **{key}**: {references[key]}." for key in dict.fromkeys(one["source"] for one in shown)]
