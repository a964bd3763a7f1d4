"""The tables and figures of the TITer paper, in its order, with ours beside them."""

from collections.abc import Iterator

from published_tables import (
    ABLATIONS,
    INDUCTIVE_GAIN,
    PUBLISHED_DATASETS,
    ROBUSTNESS,
    ROBUSTNESS_DEVIATION,
    SIZES,
    TIME_GAIN,
)
from rendering.files import Measurements, Row, changed_settings
from rendering.markdown import NOTHING, figure, metric_cells, metrics_of, percent, seeds, signed, table
from titer.evaluation.published import DATASETS, METRICS, MODELS, published

RECIPES = {"released": "-released", "paper": "-paper", "tuned": ""}
"""The recipes of TITer, and how the labels of their results end."""
OTHERS = ("tlogic", "re_gcn", "tirgn", "path_mixture", "recurrency", "random_walk")
"""Models that are not in the paper's main table."""
VARIANTS = {
    "cygnet": {"`cygnet`": "", "`cygnet`, copying from the training split only": "-frozen"},
    "titer": {f"`titer`, recipe `{recipe}`": ending for recipe, ending in RECIPES.items()},
}
"""Models with several rows in a table: the titles, and how the labels of their results end."""
TABLE_ROWS = {
    title: (model, ending)
    for model in (*MODELS, *OTHERS)
    for title, ending in VARIANTS.get(model, {f"`{model}`": ""}).items()
}
"""The rows of a table over all models: the title, the model, and the ending of its labels."""
CONVENTION = "paper"
PARTS = {
    "": "TITer",
    "no-shaping": "without reward shaping",
    "no-weights": "without weighted action scoring (β = 0.5)",
    "neither": "without both",
}


def label(dataset: str, recipe: str, part: str = "") -> str:
    """Return the label of a result of TITer."""
    return f"titer/{dataset.lower()}{RECIPES[recipe]}" + (f"-{part}" if part else "")


def main_rows(measured: Measurements) -> Iterator[tuple[str, str, list[list[Row]]]]:
    """Return the title, the model and the results on every dataset of each row of the main table, where it has any."""
    for title, (model, ending) in TABLE_ROWS.items():
        found = [measured.of(f"{model}/{dataset.lower()}{ending}") for dataset in DATASETS]
        if any(found):
            yield title, model, found


def main_table(measured: Measurements, metric: str) -> list[str]:
    """Return Table 1 for one metric: every model on every dataset, with the figures of the paper."""
    lines = []
    for title, model, found in main_rows(measured):
        ours = [percent([metrics_of(row, CONVENTION)[metric] for row in of_one]) for of_one in found]
        paper = [figure(published(model, dataset, metric)) for dataset in DATASETS]
        cells = [text for pair in zip(ours, paper, strict=True) for text in pair]
        lines.append([title, *cells, " / ".join(map(seeds, found))])
    return table(["", *(text for dataset in DATASETS for text in (dataset, "paper")), "seeds"], lines)


def unseen_table(measured: Measurements) -> list[str]:
    """Return Tables 2 and 7: unseen entities of the test splits; figures of the paper only where they differ."""
    lines = []
    for dataset, paper in PUBLISHED_DATASETS.items():
        if found := measured.datasets.get(dataset):
            unseen = found["unseen"]
            pairs = [
                (f"{100 * unseen['share']:.2f}", f"{paper.unseen_share:.2f}"),
                (f"{unseen['entities']:,}", f"{paper.unseen_entities:,}"),
                (f"{unseen['object_facts']:,}", f"{paper.unseen_objects:,}"),
                (f"{unseen['subject_facts']:,}", f"{paper.unseen_subjects:,}"),
                (f"{unseen['both_facts']:,}", f"{paper.unseen_both:,}"),
            ]
            lines.append([dataset, *(_compared(ours, theirs) for ours, theirs in pairs)])
    header = ["facts with an unseen entity, %", "unseen entities", "facts with an unseen object", "subject", "both"]
    return table(["", *header], lines)


def statistics_table(measured: Measurements) -> list[str]:
    """Return Table 8: the sizes of the datasets; figures of the paper only where they differ."""
    sizes = ("train", "valid", "test", "entities", "relations")
    lines = []
    for dataset in (*PUBLISHED_DATASETS, *(name for name in measured.datasets if name not in PUBLISHED_DATASETS)):
        paper = PUBLISHED_DATASETS.get(dataset)
        if found := measured.datasets.get(dataset):
            counts = [_compared(f"{found[key]:,}", f"{getattr(paper, key, found[key]):,}") for key in sizes]
            more = [f"{found['timestamps']:,}", found["time"]["unit"], f"`{found['checksum'][:12]}`"]
            lines.append([dataset if paper else f"{dataset} (not in the paper)", *counts, *more])
    return table(["", *sizes, "time steps", "time unit", "checksum"], lines)


def _compared(ours: str, paper: str) -> str:
    return ours if ours == paper else f"{ours} (paper: {paper})"


def size_table(measured: Measurements) -> list[str]:
    """Return Table 3: parameters and multiply-adds of all models on ICEWS14, and of TITer on all datasets."""
    lines = []
    for dataset in DATASETS:
        for model in (*MODELS, *OTHERS) if dataset == DATASETS[0] else ("titer",):
            counted = measured.sizes.get(f"{model}/{dataset.lower()}")
            paper = SIZES.get(model) if dataset == DATASETS[0] else None
            if paper or (counted and counted["parameters"]):
                lines.append([f"`{model}`, {dataset}", *_counts(counted), *map(_millions, paper or (None, None))])
    header = ["parameters", "multiply-adds per query and hop", "multiply-adds per query"]
    return table(["", *header, "parameters, paper", "multiply-adds, paper"], lines)


def _counts(counted: Row | None) -> list[str]:
    keys = ("parameters", "multiply_adds_per_step", "multiply_adds_per_question")
    found = [counted[key] if counted else None for key in keys]
    return [_millions(None if value is None else value / 1e6) for value in found]


def _millions(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f} M"


def ablation_table(measured: Measurements, dataset: str, recipe: str) -> list[str]:
    """Return Table 5 for a dataset and a recipe; empty if nothing was taken away."""
    found = {part: measured.of(label(dataset, recipe, part)) for part in PARTS}
    if not any(found[part] for part in PARTS if part):
        return []
    lines = []
    for part, rows in found.items():
        if rows:
            lines.append([PARTS[part], *metric_cells(rows, CONVENTION), seeds(rows)])
        if dataset == "ICEWS18":
            lines.append(
                [f"{PARTS[part]}, paper", *map(figure, ABLATIONS[part].values()), "5" if not part else NOTHING]
            )
    return table(["", *METRICS.values(), "seeds"], lines)


def action_weight_table(measured: Measurements) -> list[str]:
    """Return the MRR of trained models with the learned weights of actions, and with others in their place."""
    kinds = {
        "learned": "learned β",
        "mean of each decision": "the mean of β over the actions of each decision",
        "0.5": "β = 0.5",
    }
    lines = []
    for row in measured.action_weights.values():
        name = f"{row['dataset']}, {row['split']} split, {row['config']['training']['epochs']} epochs"
        lines += [[name, kinds[kind], percent([value])] for kind, value in row["mrr"].items()]
    return table(["", "evaluated with", "MRR"], lines) if lines else []


def inductive_pairs(measured: Measurements, dataset: str, recipe: str) -> list[tuple[Row, Row]]:
    """Return results with and without the inductive mean, each pair of one trained model."""
    kinds = (label(dataset, recipe), label(dataset, recipe, "inductive-mean"))
    return [
        (row, without)
        for without in measured.of(label(dataset, recipe, "no-inductive-mean"))
        for kind in kinds
        for row in measured.of(kind)
        if row["seed"] == without["seed"] and row["seconds"]["training"] == without["seconds"]["training"]
    ]


def inductive_table(measured: Measurements) -> list[str]:
    """Return Table 6: what the inductive mean adds on queries with an unseen entity, beside what the paper reports."""
    lines = []
    for dataset, paper in INDUCTIVE_GAIN.items():
        lines.append([dataset, "paper", *(f"{gain:+.2f}" for gain in paper.values()), NOTHING])
        for recipe in RECIPES:
            pairs = inductive_pairs(measured, dataset, recipe)
            gains = [
                [100 * (a["entities"]["unseen"][key] - b["entities"]["unseen"][key]) for a, b in pairs]
                for key in METRICS
            ]
            if pairs:
                lines.append(["", f"ours, recipe `{recipe}`", *map(signed, gains), str(len(pairs))])
    return table(["", "", *METRICS.values(), "seeds"], lines)


def time_rows(measured: Measurements) -> Iterator[tuple[str, str, list[Row], list[Row]]]:
    """Return dataset, recipe, temporal and static results, where a static model was trained."""
    for dataset in TIME_GAIN:
        for recipe in RECIPES:
            static = measured.of(label(dataset, recipe, "static"))
            if temporal := _alike(measured, label(dataset, recipe), static):
                yield dataset, recipe, temporal, static


def _alike(measured: Measurements, prefix: str, static: list[Row]) -> list[Row]:
    """Return the temporal results with the settings and seeds of the static ones."""
    for name in sorted(measured.rows, key=len) if static else []:
        rows = measured.rows[name]
        if name.startswith(prefix) and set(changed_settings(static[0], rows[0])) == {"model.relative_time"}:
            return [row for row in rows if row["seed"] in {other["seed"] for other in static}]
    return []


def time_table(measured: Measurements) -> list[str]:
    """Return the numbers of Figure 5: TITer with and without the relative time encoding."""
    lines = []
    for dataset, recipe, temporal, static in time_rows(measured):
        lines.append([f"{dataset}, recipe `{recipe}`", *metric_cells(temporal, CONVENTION), "", seeds(temporal)])
        gain = [
            100 * (metrics_of(a, CONVENTION)["hits_at_1"] / metrics_of(b, CONVENTION)["hits_at_1"] - 1)
            for a, b in zip(temporal, static, strict=False)
        ]
        said = f"{signed(gain)} % (paper: {TIME_GAIN[dataset]:+.2f} %)"
        lines.append(["without relative time encoding", *metric_cells(static, CONVENTION), said, seeds(static)])
    return table(["", *METRICS.values(), "Hits@1 gained by the encoding", "seeds"], lines)


def robustness_table(measured: Measurements) -> list[str]:
    """Return Table 9: mean and standard deviation over seeds for every recipe, beside the paper's over five."""
    lines = []
    for dataset in DATASETS:
        paper = [f"{ROBUSTNESS[dataset][key]:.2f} ± {ROBUSTNESS_DEVIATION[dataset][key]:.2f}" for key in METRICS]
        lines.append([dataset, "paper", *paper, "five"])
        for recipe in RECIPES:
            if rows := measured.of(label(dataset, recipe)):
                named = ", ".join(str(row["seed"]) for row in rows)
                lines.append(["", f"ours, recipe `{recipe}`", *metric_cells(rows, CONVENTION), named])
    return table(["", "", *METRICS.values(), "seeds"], lines)
