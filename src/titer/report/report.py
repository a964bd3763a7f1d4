"""The report of a run: one HTML file that needs no other file and no network."""

from importlib.resources import files
from pathlib import Path
from xml.etree.ElementTree import Element

from titer.data.summary import Summary
from titer.drawing.charts import bar, line_chart, reliability
from titer.drawing.elements import document, el, table
from titer.evaluation.evaluate import Evaluation, evaluate
from titer.evaluation.metrics import METRIC_HEADERS, metric_cells
from titer.evaluation.plain_words import in_plain_words
from titer.files import write_text
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.picture import timeline_style
from titer.forecasting.predictor import Predictor
from titer.graph.stored_history import history_of
from titer.report.events import event_sections
from titer.report.questions import best_and_worst
from titer.runs.baseline import Baseline, baseline_of
from titer.runs.run import Run
from titer.toml import to_toml

MAX_RELATIONS = 25
EXPLAINED = (
    "The rank of a true answer is 1 if no other candidate is more likely. MRR is the mean of 1 / rank, and Hits@k the "
    "share of questions with a rank of k or less, both × 100. Recurrency only counts past facts."
)


def write_report(run: Run, out: Path, *, split: str = "test", device: str = "auto", examples: int = 4) -> None:
    """Evaluate a run on a split and write the results into one HTML file.

    Args:
        run: The run.
        out: The file to write.
        split: The split to evaluate on: ``"valid"`` or ``"test"``.
        device: ``"cpu"``, ``"cuda"``, or ``"auto"`` for a GPU if there is one.
        examples: How many right and how many wrong answers to show with their evidence.
    """
    # The evaluation does not use added facts, so neither do the examples.
    model, dataset = run.load_model(device), run.dataset
    history = history_of(dataset).to(model.device)
    predictor = Predictor.create(model, dataset.axis, history, dataset)
    found = evaluate(model, dataset, split)
    baseline = baseline_of(run, found)
    title = f"{run.config.model_name} on {run.dataset.name}"
    page = document(
        title,
        el("style", files("titer.drawing").joinpath("style.css").read_text(encoding="utf-8") + timeline_style()),
        el("h1", title),
        el("p", f"Evaluated on the {split} split. Protocol: {found.protocol}.", class_="note"),
        *_metrics(found, baseline),
        *_calibration(found),
        *_breakdown(found),
        # Past forecasts are compared with facts of the test split, which a report on another split must not use.
        *event_sections(Forecaster(model, dataset, run=run), past=split == "test"),
        *_examples(predictor, found, examples),
        *_training(run),
        *_data(Summary.of(run.dataset)),
        el("h2", "Settings"),
        el("pre", to_toml(run.config.to_dict())),
    )
    write_text(out, page)


def _metrics(found: Evaluation, baseline: Baseline | None) -> list[Element]:
    labelled = found.rows() if baseline is None else baseline.rows(found)
    words = in_plain_words(found.metrics().to_dict()) if baseline is None else baseline.words
    rows = [[_label(label), *metric_cells(metrics)] for label, metrics in labelled]
    return [el("p", words), el("h2", "Metrics"), table(["", *METRIC_HEADERS], rows), el("p", EXPLAINED, class_="note")]


def _label(label: str) -> Element:
    """Return the name of a row; on a terminal, that of a baseline is indented with spaces."""
    return el("span", label.strip(), class_="within" if label.startswith(" ") else "")


def _calibration(found: Evaluation) -> list[Element]:
    error = found.confidence.expected_calibration_error()
    return [
        el("h2", "Calibration"),
        el("p", f"Expected calibration error {error:.2%}, at a temperature of {found.temperature:.3g}."),
        reliability(found.confidence.bins()),
    ]


def _breakdown(found: Evaluation) -> list[Element]:
    relations = sorted(found.by_relation().items(), key=lambda item: -item[1].queries)
    times = list(found.by_time().items())
    parts: list[Element] = [
        el("h2", "Results by relation and time"),
        table(
            ["relation", "", *METRIC_HEADERS],
            [[name, bar(metrics.mrr), *metric_cells(metrics)] for name, metrics in relations[:MAX_RELATIONS]],
            numbers_from=2,
        ),
    ]
    if len(relations) > MAX_RELATIONS:
        parts.append(el("p", f"The {MAX_RELATIONS} most frequent of {len(relations)} relations.", class_="note"))
    if len(times) > 1:
        points = [(float(i), 100 * metrics.mrr) for i, (_, metrics) in enumerate(times)]
        parts.append(line_chart("MRR × 100 over time", points, (times[0][0], times[-1][0]), "first"))
    return parts


def _examples(predictor: Predictor, found: Evaluation, count: int) -> list[Element]:
    model = predictor.model
    best, worst = best_and_worst(predictor, found, count)
    note = [] if model.explains() else [el("p", f"The model {model.name} has no evidence to show.")]
    return [
        el("h2", "Most confident right answers"),
        *note,
        *(best or [el("p", "No top answer was right.")]),
        el("h2", "Most confident wrong answers"),
        *(worst or [el("p", "No top answer was wrong.")]),
    ]


def _training(run: Run) -> list[Element]:
    rows = [row for row in run.log_rows if "epoch" in row]
    if not rows:
        return [el("h2", "Training"), el("p", "The model is not trained by gradients, so there were no epochs.")]
    ends = f"epoch {rows[0]['epoch']}", f"epoch {rows[-1]['epoch']}"
    parts = [el("h2", "Training")]
    for key, colour, scale, title in (
        ("reward", "first", 1, "Reward"),
        ("loss", "first", 1, "Loss"),
        ("valid_mrr", "second", 100, "MRR × 100 on the validation split"),
    ):
        points = [(float(row["epoch"]), scale * row[key]) for row in rows if key in row]
        if points:
            parts.append(line_chart(title, points, ends, colour))
    return parts


def _data(summary: Summary) -> list[Element]:
    about = summary.to_dict()
    rows = [
        ["checksum", about["checksum"]],
        ["time", f"{about['first']} to {about['last']}, {about['timestamps']:,} steps with facts"],
        ["training, validation and test facts", " / ".join(f"{about[name]:,}" for name in ("train", "valid", "test"))],
        ["entities and relations", f"{about['entities']:,} and {about['relations']:,}"],
        ["test facts with an unseen entity", f"{about['unseen']['share']:.1%}"],
    ]
    busiest = [[name, f"{count:,}"] for name, count in summary.busiest_entities(10)]
    return [
        el("h2", "Dataset"),
        table(["dataset", about["name"]], rows, numbers_from=9),
        el("h3", "Entities with the most facts"),
        table(["entity", "facts"], busiest),
    ]
