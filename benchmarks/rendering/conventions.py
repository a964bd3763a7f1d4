"""Our results under the conventions of the publications, and with knowledge of the other questions."""

from rendering.comparison import ALL
from rendering.files import Measurements, Row
from rendering.markdown import figure, metric_cells, metrics_of, percent, seeds, table
from rendering.paper import TABLE_ROWS
from titer.evaluation.published import DATASETS, METRICS, published
from titer.evaluation.published_conventions import PUBLISHED_CONVENTIONS

PICTURE = "pictures/other_questions.svg"
COMMON = ("paper", "realistic")
"""The conventions that every result has."""
KNOWLEDGE = ("nothing", "entities", "relations", "both-directions")


def published_convention_table(measured: Measurements) -> list[str]:
    """Return the MRR of models whose published convention is known, under it and under ours, beside the paper's."""
    lines = []
    for title, (model, ending) in TABLE_ROWS.items():
        for dataset in DATASETS:
            found = {
                row["seed"]: (row, mrr)
                for row in measured.of(f"{model}/{dataset.lower()}{ending}")
                if (mrr := _under_published_convention(row)) is not None
            }
            if found:
                rows = [row for row, _ in found.values()]
                under = percent([mrr for _, mrr in found.values()])
                common = [percent([metrics_of(row, name)["mrr"] for row in rows]) for name in COMMON]
                paper = figure(published(model, dataset, "mrr"))
                words = str(PUBLISHED_CONVENTIONS[model].protocol)
                lines.append([title, dataset, words, under, *common, paper, seeds(rows)])
    header = ["published convention", "MRR under it", *(f"convention `{name}`" for name in COMMON)]
    return table(["", "", *header, "paper", "seeds"], lines)


def _under_published_convention(row: Row) -> float | None:
    """Return the MRR of a result under the convention of the model's publication, if the result has it.

    Some results were evaluated under it, and for some models it is one of the two that all results have.
    """
    if "published_convention" in row:
        return row["published_convention"]["metrics"]["mrr"]
    known = PUBLISHED_CONVENTIONS.get(row["model"])
    return metrics_of(row, known.protocol.name)["mrr"] if known and known.protocol.name else None


def other_questions_table(measured: Measurements) -> list[str]:
    """Return what the path mixture achieves with each kind of knowledge about the other questions of a time step."""
    lines = []
    for dataset in ALL:
        found = {known: measured.with_knowledge(dataset, known) for known in KNOWLEDGE}
        shown = [(known, rows) for known, rows in found.items() if rows]
        for place, (known, rows) in enumerate(shown):
            name = dataset if place == 0 else ""
            lines.append([name, known.replace("-", " "), *metric_cells(rows), seeds(rows)])
    picture = ["", f"![MRR and Hits@10 with each kind of knowledge]({PICTURE})"] if lines else []
    return [*table(["", "the model knows", *METRICS.values(), "seeds"], lines), *picture]
