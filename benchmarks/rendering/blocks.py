"""Blocks of documents that are rendered from files.

A block begins with a line ``<!-- results: NAME -->`` and ends with ``<!-- end of results -->``.
"""

import re
from collections.abc import Callable
from functools import partial

from rendering.campaigns import campaign_commands, campaign_figures, campaign_table, checksum_table
from rendering.case_study import case_table
from rendering.comparison import (
    best_cells,
    best_published,
    later_systems_table,
    other_systems_table,
    second_icews14_table,
    tried_table,
)
from rendering.conventions import other_questions_table, published_convention_table
from rendering.event_floors import FLOOR_BLOCKS
from rendering.events import EVENT_BLOCKS
from rendering.files import Measurements, Row
from rendering.markdown import NOTHING, figure, metrics_of, percent, table
from rendering.models import (
    EARLIER,
    MIXTURE,
    calibration_table,
    commands,
    first_evaluations,
    model_table,
    notes,
    small_table,
)
from rendering.paper import (
    RECIPES,
    ablation_table,
    action_weight_table,
    inductive_table,
    label,
    main_table,
    robustness_table,
    size_table,
    statistics_table,
    time_table,
    unseen_table,
)
from rendering.ray import ray_table
from rendering.scale import memory_table, scale_table
from rendering.tgb import tgb_table
from rendering.walk import epochs_table, order_table, seeds_of_the_text, walk_table
from titer.evaluation.comparison import cell
from titer.evaluation.published import DATASETS, METRICS, published

BLOCK = re.compile(r"(<!-- results: (?P<name>[^>]+?) -->\n).*?(<!-- end of results -->)", re.DOTALL)
NONE = "*No result yet.*"


def with_blocks(text: str, measured: Measurements) -> str:
    """Return a document with the current content of all its blocks."""

    def rendered(found: re.Match[str]) -> str:
        lines = BLOCKS[found["name"]](measured) or [NONE]
        # Python-Markdown finds a table only after an empty line.
        return "\n".join([found[1], *lines, "", found[3]])

    return BLOCK.sub(rendered, text)


def without_blocks(text: str) -> str:
    """Return the part of a document that is written by hand."""
    return BLOCK.sub("", text)


def overview(measured: Measurements) -> list[str]:
    """Return the table of the README: the most important models, and the published results."""
    models = {
        "**`path_mixture`**": "path_mixture/{}",
        "`path_mixture`, without reading names": "path_mixture/{}-no-names",
        **{f"`titer`, recipe `{recipe}`": "titer/{}" + ending for recipe, ending in RECIPES.items()},
        "`xerte`, the best of the nine other models in the TITer paper": "xerte/{}",
        **{f"`{model}`": f"{model}/{{}}" for model in ("tlogic", "re_gcn", "tirgn")},
        "`recurrency`": "recurrency/{}",
        "`random_walk`": "random_walk/{}",
    }
    lines = []
    for title, pattern in models.items():
        found = [measured.of(pattern.format(dataset.lower())) for dataset in DATASETS]
        # On WIKI and YAGO the model reads no names anyway.
        missing = "as above" if "names" in pattern else NOTHING
        if any(found):
            cells = [percent([metrics_of(row)["mrr"] for row in rows]) if rows else missing for rows in found]
            lines.append([title, *cells])
    lines.append(["TITer, as published", *(figure(published("titer", dataset, "mrr")) for dataset in DATASETS)])
    lines.append(["best published", *best_cells(measured, with_code=False)])
    lines.append(["best published, with public code", *best_cells(measured, with_code=True)])
    return table(["", *DATASETS], lines)


def calibration(measured: Measurements) -> list[str]:
    """Return temperature and calibration error on the small world and on the benchmarks."""
    small = {f"`{model}`, small world": [row] for model, row in measured.small_world.items()}
    models = ("path_mixture", "titer", "recurrency")
    large = {
        f"`{model}`, {dataset}": measured.of(f"{model}/{dataset.lower()}") for model in models for dataset in DATASETS
    }
    lines = []
    for title, rows in {**small, **large}.items():
        if known := [row["calibration"] for row in rows if "calibration" in row]:
            errors = percent([one["expected_calibration_error"] for one in known])
            lines.append([title, cell([one["temperature"] for one in known]), errors])
    return table(["", "T", "expected calibration error, %"], lines)


def faithfulness(dataset: str) -> Callable[[Measurements], list[str]]:
    """Return what renders the faithfulness of evidence on a dataset."""
    parts = ("whole", "without_evidence", "without_random")
    titles = ("", "without the strongest evidence", "without random facts")

    def render(measured: Measurements) -> list[str]:
        lines = [
            [
                f"`{row['model']}`",
                f"{row['compared']:,}",
                *(f"{100 * row[part]['mrr']:.2f}" for part in parts),
                *(f"{100 * row[part]['probability']:.1f} %" for part in parts),
            ]
            for row in measured.faithfulness.get(dataset, [])
        ]
        header = [text or what for what in ("MRR", "probability") for text in titles]
        return table(["", "compared", *header], lines)

    return render


def planted(measured: Measurements) -> list[str]:
    """Return the results on the planted facts of the small world."""
    rows = measured.faithfulness.get("small-world", [])
    kinds = sorted({kind for row in rows for kind in row["planted"]})
    lines = [
        [f"`{row['model']}`", *(f"{100 * row['planted'][kind]['metrics']['mrr']:.2f}" for kind in kinds), *_causes(row)]
        for row in rows
    ]
    return table(["", *(f"MRR {kind}" for kind in kinds), "ranked first", "causes found"], lines)


def _causes(row: Row) -> list[str]:
    first, found = (sum(one[key] for one in row["planted"].values()) for key in ("ranked_first", "causes_found"))
    return [f"{first:,}", f"{100 * found / max(first, 1):.1f} %"]


def logged(note: str, name: str) -> Callable[[Measurements], list[str]]:
    """Return what renders a table of a log."""

    def render(measured: Measurements) -> list[str]:
        found = measured.notes[note]["tables"][name]
        return table(found["columns"], [[_logged_cell(entry) for entry in row] for row in found["rows"]])

    return render


def _logged_cell(entry: object) -> str:
    """Return a cell: a number, a text, nothing, or several of them in a row."""
    if isinstance(entry, list):
        return "".join(map(_logged_cell, entry))
    return NOTHING if entry is None else entry if isinstance(entry, str) else f"{entry:.2f}"


def recipes(measured: Measurements) -> list[str]:
    """Return the MRR of TITer's recipes beside the paper's, and the seeds."""
    lines = [["the paper", *(figure(published("titer", dataset, "mrr")) for dataset in DATASETS)]]
    for recipe in RECIPES:
        found = [measured.of(label(dataset, recipe)) for dataset in DATASETS]
        if any(found):
            cells = [
                f"{percent([metrics_of(row, 'paper')['mrr'] for row in rows])} ({len(rows)})" if rows else NOTHING
                for rows in found
            ]
            lines.append([f"`{recipe}`", *cells])
    return table(["recipe", *DATASETS], lines)


BLOCKS: dict[str, Callable[[Measurements], list[str]]] = {
    "overview": overview,
    "recipes": recipes,
    # The tables of the paper.
    **{f"main table, {title}": partial(main_table, metric=metric) for metric, title in METRICS.items()},
    "unseen entities": unseen_table,
    "sizes": size_table,
    **{
        f"ablation, {dataset}, {recipe}": partial(ablation_table, dataset=dataset, recipe=recipe)
        for dataset in ("ICEWS14", "ICEWS18")
        for recipe in RECIPES
    },
    "action weights": action_weight_table,
    "published conventions": published_convention_table,
    "case study": case_table,
    "inductive mean": inductive_table,
    "time encoding": time_table,
    "datasets": statistics_table,
    "robustness": robustness_table,
    "walk": walk_table,
    "seeds of the text": seeds_of_the_text,
    "epochs of released": epochs_table,
    "order of facts": order_table,
    # All results.
    "all models": model_table,
    "notes": notes,
    "unseen, all models": partial(model_table, group="unseen"),
    "best published": best_published,
    "second ICEWS14": second_icews14_table,
    "later systems": later_systems_table,
    "tried": tried_table,
    "other questions": other_questions_table,
    **EVENT_BLOCKS,
    **FLOOR_BLOCKS,
    "path mixture": partial(small_table, labels=MIXTURE),
    "path mixture, unseen": partial(small_table, labels=MIXTURE, group="unseen"),
    "calibration, all models": calibration_table,
    "first evaluations": first_evaluations,
    "earlier runs": partial(small_table, labels=EARLIER),
    "other systems": other_systems_table,
    "commands": commands,
    # Other documents.
    "calibration": calibration,
    "faithfulness, small world": faithfulness("small-world"),
    "faithfulness, ICEWS14": faithfulness("icews14"),
    "planted causes": planted,
    "scale": scale_table,
    "scale, memory": memory_table,
    "TGB sizes": tgb_table,
    "ray": ray_table,
    "campaigns": campaign_table,
    "campaigns, figures": campaign_figures,
    "campaigns, commands": campaign_commands,
    "checksums": checksum_table,
    **{
        f"path mixture, {name}": logged("path_mixture", name)
        for name in (
            "first design",
            "without improvement",
            "with improvement",
            "names",
            "settings",
            "settings, ICEWS18",
            "ideas of others",
            "embeddings that a step reads",
        )
    },
}
"""What renders each block, by its name."""
