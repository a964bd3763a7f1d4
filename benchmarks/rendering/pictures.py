"""Figures 4 and 5 of the paper, with our results."""

from statistics import mean

from published_tables import TIME_GAIN
from rendering.comparison import ALL
from rendering.conventions import KNOWLEDGE
from rendering.files import Measurements, Row
from rendering.markdown import metrics_of
from rendering.paper import CONVENTION, RECIPES, TABLE_ROWS, inductive_pairs, time_rows
from titer.drawing.charts import grouped_bars, svg_file
from titer.evaluation.published import METRICS, published

KINDS = ("mrr", "hits_at_10")


def inductive_picture(measured: Measurements) -> str:
    """Draw Figure 4: MRR and Hits@10 on the ICEWS14 queries with an unseen entity, with the random walk as baseline."""
    recipes = {("titer", ending): recipe for recipe, ending in RECIPES.items()}
    bars: dict[str, list[Row]] = {}
    for model, ending in TABLE_ROWS.values():
        recipe = recipes.get((model, ending))
        name = f"titer {recipe}" if recipe else f"{model}{ending}"
        rows = measured.of(f"{model}/icews14{ending}")
        if rows and model != "random_walk":
            bars[name] = rows
        if recipe and (pairs := inductive_pairs(measured, "ICEWS14", recipe)):
            named = "seed " + ", ".join(str(row["seed"]) for row, _ in pairs)
            # Bars of other trainings cannot be compared.
            bars[f"{name}, {named}"] = [row for row, _ in pairs]
            bars[f"{name}, {named}, w/o IM"] = [without for _, without in pairs]
    series = {METRICS[key]: [_unseen(rows, key) for rows in bars.values()] for key in KINDS}
    walks = measured.of("random_walk/icews14")
    baseline = {METRICS[key]: _unseen(walks, key) for key in KINDS} if walks else {}
    title = "Queries with an unseen entity, ICEWS14"
    return svg_file(grouped_bars(title, list(bars), series, "random walk", baseline))


def _unseen(rows: list[Row], key: str) -> float:
    return 100 * mean(row["entities"]["unseen"][key] for row in rows)


def time_picture(measured: Measurements) -> str:
    """Draw Figure 5: Hits@1 with and without the relative time encoding, ours and the paper's."""
    temporal: dict[str, float] = {}
    static: dict[str, float] = {}
    for dataset, gain in TIME_GAIN.items():
        with_time = published("titer", dataset, "hits_at_1") or 0.0
        temporal[f"{dataset}, published"] = with_time
        static[f"{dataset}, published"] = with_time / (1 + gain / 100)
        for of_dataset, recipe, rows, without in time_rows(measured):
            if of_dataset == dataset:
                temporal[f"{dataset}, {recipe}"] = _hits(rows)
                static[f"{dataset}, {recipe}"] = _hits(without)
    series = {"temporal": list(temporal.values()), "static": list(static.values())}
    return svg_file(grouped_bars("Hits@1 with and without relative time encoding", list(temporal), series))


def other_questions_picture(measured: Measurements) -> str:
    """Draw MRR and Hits@10 of the path mixture with each kind of knowledge about the other questions."""
    bars = {
        f"{dataset}, {known.replace('-', ' ')}": rows
        for dataset in ALL
        for known in KNOWLEDGE
        if (rows := measured.with_knowledge(dataset, known))
    }
    series = {
        METRICS[key]: [100 * mean(row["metrics"][key] for row in rows) for rows in bars.values()] for key in KINDS
    }
    return svg_file(grouped_bars("What it is worth to know the other questions of a time step", list(bars), series))


def _hits(rows: list[Row]) -> float:
    return 100 * mean(metrics_of(row, CONVENTION)["hits_at_1"] for row in rows)
