"""Render ``benchmarks/results/*.json`` and ``benchmarks/sizes/*.json`` as ``benchmarks/RESULTS.md``.

    python benchmarks/render.py

Every number in the page comes from a result file, which names the command that produced it. The figures of the paper
are shown for comparison.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from titer.drawing.charts import grouped_bars, svg_file
from titer.evaluation.comparison import cell, published_cell
from titer.evaluation.published import DATASETS, METRICS, published
from titer.evaluation.published import MODELS as MODELS_OF_THE_PAPER

HERE = Path(__file__).parent
PAGE = HERE / "RESULTS.md"
PICTURE = HERE / "inductive.svg"
COUNTS = HERE / "sizes"
MODELS = (*MODELS_OF_THE_PAPER, "path_mixture", "recurrency", "random_walk")
SIZES = {"renet": (5.459, 4.370), "cygnet": (8.568, 8.554), "xerte": (2.927, 225.895), "titer": (1.455, 0.225)}
"""Parameters and multiply-adds on ICEWS14 in the paper, in millions."""
ABLATIONS = {
    "titer/icews14": "TITer",
    "titer/icews14-no-shaping": "without reward shaping",
    "titer/icews14-no-weights": "without weighted scoring (β = 0.5)",
    "titer/icews14-neither": "without both",
    "titer/icews14-paper": "preset `paper`: the text to the letter",
}
MIXTURE = {
    "path_mixture/icews14": "the path mixture",
    "path_mixture/icews14-no-direct": "without direct past facts between subject and answer",
    "path_mixture/icews14-no-two-hops": "without paths of two hops of any relation",
    "path_mixture/icews14-no-same-relation": "without paths that end in the query's relation",
    "path_mixture/icews14-no-trust": "without the factor that weights all paths to an answer",
    "path_mixture/icews14-no-prior": "without embeddings (and so without names)",
    "path_mixture/icews14-no-names": "without names",
    "path_mixture/icews18": "the path mixture, ICEWS18",
    "path_mixture/icews18-no-names": "without names, ICEWS18",
}
NAMES = (
    "On ICEWS the path mixture uses the words of entity names: Police (Chad) is related to Army (Chad), and to other "
    "police forces. No other model here does, so its results without names are shown too. It uses no names on WIKI, "
    "where they are numbers, nor on YAGO."
)
CALIBRATION = (
    "Expected calibration error of the answer ranked first; other answers that are true at the same time are masked as "
    "in the ranking. The temperature is chosen on the validation split ([docs/evaluation.md](../docs/evaluation.md))."
)
TIME = {
    "titer/icews18-45-epochs": "TITer, ICEWS18 (45 epochs)",
    "titer/icews18-static": "without relative time encoding, ICEWS18 (45 epochs)",
    "titer/wiki": "TITer, WIKI",
    "titer/wiki-static": "without relative time encoding, WIKI",
}
INDUCTIVE = {
    "titer/icews14": "ICEWS14, with",
    "titer/icews14-no-inductive-mean": "ICEWS14, without",
    "random_walk/icews14": "ICEWS14, random walk",
    "titer/wiki": "WIKI, with",
    "titer/wiki-no-inductive-mean": "WIKI, without",
    "random_walk/wiki": "WIKI, random walk",
}
EARLIER = {
    "titer/icews18-45-epochs": "ICEWS18, 45 epochs",
    "titer/icews18-55-epochs": "ICEWS18, 55 epochs",
    "titer/icews18": "ICEWS18, 65 epochs, in the main table",
    "titer/yago-first": "YAGO, entropy weight decayed per batch, 50 epochs",
    "titer/yago-second": "YAGO, decayed per epoch, 30 epochs",
    "titer/yago": "YAGO, decayed more slowly, dropout, 40 epochs, in the main table",
}
LOOKS = (
    "Two of TITer's configurations were changed after runs whose test results were known. The main table has later "
    "runs: their settings were chosen on the validation split (YAGO: validation MRR 83.56, 83.41 and 82.72 with "
    "dropout, 82.92, 83.41 and 81.08 without; ICEWS18: more epochs, because the validation MRR was still rising at "
    "45), and the test split was evaluated once after that."
)
COUNTED = (
    "Counted while the model runs, by `titer size titer/icews14 --json > benchmarks/sizes/titer-icews14.json` and "
    "similar commands: the multiply-adds of all matrix products, averaged over a batch of 512 different queries; work "
    "that they share is divided among them. Elementwise products, such as the messages of graph layers, are not "
    "counted. A hop is one decision of one walk in training, forward pass only; a model that does not walk has one "
    "hop per query. A query is everything that one query of the evaluation needs: TITer's whole beam search, or a "
    "score for every entity. The paper does not state how it counted. TITer's path encoder alone needs 0.36 M for "
    "three hops, so the paper's 0.225 M must be one hop; with a relation table of as many rows as there are "
    "entities, our implementation would have the paper's 1.455 M parameters. CyGNet's 8.568 M are its two output "
    "layers without its embeddings."
)
BESIDE = (
    "Our results use the convention `paper`, as the paper's figures do: an answer is ranked before all others with the "
    "same score. All facts before the time of a query are available, also at test time, and each model reads what its "
    "design allows: CyGNet all past answers to the same query, `recurrency` and the path mixture all facts of the "
    "subject (and the path mixture the latest facts of its neighbours), RE-NET the latest ten time steps, TANGO the "
    "latest four, xERTE, TITer and the random walk the latest facts of the entities they visit, the four embedding "
    "models none. Weights do not change at test time. The other models are our own implementations, trained with "
    "cross-entropy over all entities (xERTE over the entities it reached); the class of each model lists the "
    "differences from its publication. For these reasons most are far above the paper's figures for them: a row shows "
    "what the model achieves in this framework, and is not a replication of the original experiment."
)
TWICE = (
    "Settings are chosen on the validation split, but some were changed after a first evaluation on the test split. "
    "TANGO was evaluated twice: first with less dropout, and on ICEWS14 for ten epochs instead of six (TuckER and "
    "DistMult: 32.50 and 34.47 on ICEWS14, 27.80 and 28.01 on ICEWS18, 55.90 and 48.69 on WIKI, 67.42 and 74.22 on "
    "YAGO); more dropout was then better on the validation split, except for DistMult on ICEWS18, whose first run is "
    "kept. RE-NET on YAGO had 68.54 before `question_dropout`, with dropout 0.5 and 20 epochs. For TITer see below, "
    "for the path mixture [path_mixture.md](path_mixture.md)."
)
UNSEEN = (
    "Test queries whose fact has an unseen entity, one without a fact in the training split. The dotted lines are the "
    "results of the random walk: a model has learned about such entities only if it is better."
)
Rows = dict[str, list[dict[str, Any]]]


def load() -> Rows:
    """Return the results on the test split by label, ordered by seed."""
    rows: Rows = defaultdict(list)
    for path in sorted((HERE / "results").glob("*.json")):
        row = json.loads(path.read_text(encoding="utf-8"))
        if row["split"] == "test":
            rows[row["label"]].append(row)
    return rows


def hundredfold(values: Sequence[float]) -> str:
    """Return the mean times a hundred, with the standard deviation of several values."""
    return cell([100 * value for value in values])


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def main_table(rows: Rows, metric: str) -> list[str]:
    """Return every model on every dataset, with the figures of the paper."""
    lines = []
    for model in MODELS:
        found = {d: rows.get(f"{model}/{d.lower()}", []) for d in DATASETS}
        if any(found.values()):
            ours = [hundredfold([row["conventions"]["paper"][metric] for row in found[d]]) for d in DATASETS]
            paper = [published_cell(published(model, d, metric)) for d in DATASETS]
            lines.append([f"`{model}`", *(text for pair in zip(ours, paper, strict=True) for text in pair)])
    return table(["", *(text for d in DATASETS for text in (d, "paper"))], lines)


def notes(rows: Rows) -> list[str]:
    """Return the notes of single results."""
    return [f"- {label}: {row['note']}" for label in sorted(rows) for row in rows[label] if row.get("note")]


def titer_table(rows: Rows) -> list[str]:
    """Return TITer under both conventions, with the figures of the paper."""
    lines = []
    for metric, title in METRICS.items():
        lines.append([title, "paper", *(published_cell(published("titer", d, metric)) for d in DATASETS)])
        for convention in ("paper", "realistic"):
            found = [[row["conventions"][convention][metric] for row in rows[f"titer/{d.lower()}"]] for d in DATASETS]
            lines.append(["", f"ours, convention `{convention}`", *map(hundredfold, found)])
    seeds = [f"{d} {', '.join(str(row['seed']) for row in rows.get(f'titer/{d.lower()}', []))}" for d in DATASETS]
    return [*table(["", "", *DATASETS], lines), "", "Seeds: " + "; ".join(seeds) + "."]


def model_table(rows: Rows, group: str | None = None) -> list[str]:
    """Return the MRR of every model on every dataset, for all queries or one group of them."""
    lines = []
    for model in MODELS:
        found = [rows.get(f"{model}/{d.lower()}", []) for d in DATASETS]
        mrr = [[(row["entities"][group] if group else row["metrics"])["mrr"] for row in of_one] for of_one in found]
        if any(mrr):
            lines.append([f"`{model}`", *map(hundredfold, mrr)])
    return table(["", *DATASETS], lines)


def small_table(rows: Rows, labels: dict[str, str], group: str | None = None, seed: int | None = None) -> list[str]:
    """Return the metrics of some results, for all queries or one group of them, for all seeds or one."""
    lines = []
    for label, text in labels.items():
        found = [row for row in rows.get(label, []) if seed is None or row["seed"] == seed]
        metrics = [row["entities"][group] if group else row["metrics"] for row in found]
        if metrics:
            lines.append([text, *(hundredfold([m[key] for m in metrics]) for key in METRICS), str(len(found))])
    return table(["", *METRICS.values(), "seeds"], lines)


def calibration_table(rows: Rows, model: str) -> list[str]:
    """Return the calibration error and the temperature of a model on every dataset."""
    lines = []
    for key, title in (("expected_calibration_error", "expected calibration error, %"), ("temperature", "temperature")):
        found = [[row["calibration"][key] for row in rows.get(f"{model}/{d.lower()}", [])] for d in DATASETS]
        lines.append([title, *((hundredfold if "error" in key else cell)(values) for values in found)])
    return table([f"`{model}`", *DATASETS], lines)


def inductive_picture(rows: Rows) -> str:
    """Draw MRR and Hits@10 on the ICEWS14 queries with an unseen entity, with the random walk as the baseline."""
    kinds = {title: metric for metric, title in METRICS.items() if metric in ("mrr", "hits_at_10")}

    def unseen(model: str, metric: str) -> float:
        return 100 * mean(row["entities"]["unseen"][metric] for row in rows[f"{model}/icews14"])

    models = [model for model in MODELS if model != "random_walk" and rows.get(f"{model}/icews14")]
    series = {title: [unseen(model, metric) for model in models] for title, metric in kinds.items()}
    baseline = {title: unseen("random_walk", metric) for title, metric in kinds.items()}
    title = "Queries with an unseen entity, ICEWS14"
    return svg_file(grouped_bars(title, models, series, "random walk", baseline))


def size_table() -> list[str]:
    """Return parameters and multiply-adds in millions: all models on ICEWS14, and TITer on all datasets."""
    lines = []
    for dataset in DATASETS:
        for model in MODELS if dataset == DATASETS[0] else ("titer",):
            counted = counted_size(model, dataset)
            paper = SIZES.get(model) if dataset == DATASETS[0] else None
            if paper or (counted and counted["parameters"]):
                lines.append([f"`{model}`, {dataset}", *_ours(counted), *map(millions, paper or (None, None))])
    header = ["parameters", "multiply-adds per query and hop", "multiply-adds per query"]
    return table(["", *header, "parameters, paper", "multiply-adds, paper"], lines)


def counted_size(model: str, dataset: str) -> dict[str, Any] | None:
    """Return what ``titer size`` counted; None if there is no file."""
    path = COUNTS / f"{model}-{dataset.lower()}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _ours(counted: dict[str, Any] | None) -> list[str]:
    keys = ("parameters", "multiply_adds_per_step", "multiply_adds_per_question")
    found = [counted[key] if counted else None for key in keys]
    return [millions(None if value is None else value / 1e6) for value in found]


def millions(value: float | None) -> str:
    """Format a number of millions as the paper does."""
    return "–" if value is None else f"{value:.3f} M"


def commands(rows: Rows) -> list[str]:
    """Return the command, the hardware and the cost of each result."""
    lines = [
        [
            f"{label}, seed {row['seed']}",
            f"{100 * row['metrics']['mrr']:.2f}",
            row["hardware"],
            f"{row['seconds']['training']:.0f}",
            f"{row['gpu_gigabytes']:.1f} GB" if row.get("gpu_gigabytes") else "–",
            f"`{row['command']}`",
        ]
        for label in sorted(rows)
        for row in rows[label]
    ]
    return table(["result", "MRR", "hardware", "training, seconds", "GPU memory", "command"], lines)


def main() -> None:
    """Write the page and the picture."""
    rows = load()
    hits = [["", f"{title}:", "", *main_table(rows, metric)] for metric, title in METRICS.items() if metric != "mrr"]
    page = [
        "# Results",
        "",
        "Rendered from `benchmarks/results/*.json` and `benchmarks/sizes/*.json` by `python benchmarks/render.py`. "
        "Test split, time-aware filter, rolling history, best epoch on the validation split; MRR and Hits × 100. "
        "Tables after the first two sections use the convention `realistic`. Several trainings shared one GPU, so "
        "training times are upper bounds.",
        "",
        "## The paper's main table: MRR",
        "",
        BESIDE + " `titer compare --paper benchmarks/results` prints the same tables.",
        "",
        TWICE,
        "",
        *main_table(rows, "mrr"),
        *(line for lines in hits for line in lines),
        *(["", "Notes:", "", *found] if (found := notes(rows)) else []),
        "",
        "## TITer compared with the paper",
        "",
        *titer_table(rows),
        "",
        "## All models: MRR",
        "",
        *model_table(rows),
        "",
        "Queries with an unseen entity only:",
        "",
        *model_table(rows, "unseen"),
        "",
        "## Unseen entities, ICEWS14",
        "",
        UNSEEN,
        "",
        f"![MRR and Hits@10 of every model on queries with an unseen entity]({PICTURE.name})",
        "",
        "## Ablations, ICEWS14",
        "",
        *small_table(rows, ABLATIONS),
        "",
        "## Ablations of the path mixture",
        "",
        NAMES,
        "",
        *small_table(rows, MIXTURE),
        "",
        "Queries with an unseen entity only:",
        "",
        *small_table(rows, MIXTURE, "unseen"),
        "",
        "## Calibration",
        "",
        CALIBRATION,
        "",
        *calibration_table(rows, "path_mixture"),
        "",
        "## Relative time encoding",
        "",
        *small_table(rows, TIME),
        "",
        "## Inductive mean: queries with an unseen entity",
        "",
        *small_table(rows, INDUCTIVE, "unseen", seed=0),
        "",
        "## Earlier runs of two TITer configurations",
        "",
        LOOKS,
        "",
        *small_table(rows, EARLIER),
        "",
        "## Size and computation",
        "",
        COUNTED,
        "",
        *size_table(),
        "",
        "## Commands",
        "",
        *commands(rows),
        "",
    ]
    PAGE.write_text("\n".join(page), encoding="utf-8")
    PICTURE.write_text(inductive_picture(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
