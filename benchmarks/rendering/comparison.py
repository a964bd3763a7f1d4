"""Our results beside the published ones of other systems."""

from typing import Any

from rendering.files import Measurements, Row, changed_settings
from rendering.markdown import NOTHING, metric_cells, metrics_of, percent, seeds, signed, table
from titer.evaluation.published import DATASETS, METRICS

SECOND = "ICEWS14-RE-GCN"
ALL = ("ICEWS14", SECOND, "ICEWS18", "WIKI", "YAGO")
LATER = {"tlogic": "TLogic", "re_gcn": "RE-GCN", "tirgn": "TiRGN"}
"""Models that are later than the paper, with the names of the published systems."""
TRIED = ("re_gcn", "tirgn", "path_mixture")
"""Models whose trials on validation splits are shown."""
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


def later_systems_table(measured: Measurements) -> list[str]:
    """Return the MRR of models that are later than the paper beside their published one, and the difference."""
    lines = []
    for model, system in LATER.items():
        found = [one for one in systems(measured) if one["name"] == system]
        for dataset in ALL:
            rows = measured.of(f"{model}/{dataset.lower()}")
            for one in found if rows else []:
                if (theirs := one["mrr"].get(dataset)) is not None:
                    values = [metrics_of(row)["mrr"] for row in rows]
                    added = signed([100 * value - theirs for value in values])
                    lines.append([f"`{model}`", dataset, percent(values), f"{theirs:.2f}", added, _cited(one)])
    return table(["", "", "MRR", "published", "difference", "source"], lines)


def tried_table(measured: Measurements) -> list[str]:
    """Return what was tried on validation splits for some models: settings other than those kept, and metrics."""
    shown = {(model, dataset): f"{model}/{dataset.lower()}-" for model in TRIED for dataset in ALL}
    lines = [
        [f"`{model}`", dataset, _settings(rows[0], measured.of(f"{model}/{dataset.lower()}")), *metric_cells(rows)]
        for (model, dataset), prefix in shown.items()
        for (name, split), rows in sorted(measured.trials.items())
        if split == "valid" and name.startswith(prefix) and rows[0]["dataset"]["name"] == dataset
    ]
    return table(["", "", "settings other than the configuration's", *METRICS.values()], lines)


def _settings(row: Row, kept: list[Row]) -> str:
    """Return the settings of a trial that the result that was kept has with other values."""
    changes = changed_settings(kept[0], row) if kept else {}
    return ", ".join(f"`{name}={str(value).lower()}`" for name, value in changes.items()) or "none"


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
