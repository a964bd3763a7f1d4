"""Our results under the conventions of the publications, and with knowledge of the other questions."""

from rendering.comparison import ALL
from rendering.files import Measurements, Row
from rendering.markdown import figure, metric_cells, metrics_of, percent, seeds, table
from rendering.paper import TABLE_ROWS
from titer.evaluation.published import DATASETS, METRICS, published

PICTURE = "pictures/other_questions.svg"
KNOWLEDGE = ("nothing", "entities", "relations", "both-directions")


def published_convention_table(measured: Measurements) -> list[str]:
    """Return the MRR of models whose published convention is known, under it and under ours, beside the paper's."""
    lines = []
    for title, (model, ending) in TABLE_ROWS.items():
        for dataset in DATASETS:
            rows = [row for row in measured.of(f"{model}/{dataset.lower()}{ending}") if "published_convention" in row]
            if rows:
                found = [row["published_convention"]["metrics"]["mrr"] for row in rows]
                common = [percent([metrics_of(row, name)["mrr"] for row in rows]) for name in ("paper", "realistic")]
                paper = figure(published(model, dataset, "mrr"))
                lines.append([title, dataset, _words(rows[0]), percent(found), *common, paper, seeds(rows)])
    header = ["published convention", "MRR under it", "convention `paper`", "convention `realistic`", "paper", "seeds"]
    return table(["", "", *header], lines)


def _words(row: Row) -> str:
    protocol = row["published_convention"]["protocol"]
    return f"{protocol['filter']} filter, {protocol['ties']} ties, unreachable {protocol['unreachable']}, " + (
        f"{protocol['past']} history"
    )


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
