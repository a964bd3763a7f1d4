"""The command ``titer events``, and the evaluation of event forecasts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from titer.cli.batch import prepare_events
from titer.cli.event_questions import EventOptions, WithinOption, answer, with_event_options
from titer.cli.options import RunArgument
from titer.cli.screen import note, say, say_json, say_table
from titer.counted import counted

if TYPE_CHECKING:
    from titer.events.metrics import EventMetrics

EXAMPLES = (
    "titer events runs/first --within 7d",
    "titer events runs/first --subject Nigeria --sort lift --explain",
    "titer events runs/first --kind ends --top 20 --out ends.csv",
)

HEADER = [
    "", "AP", "P@n", "R@100", "R@1000", "Brier skill", "log score", "sum/events", "worst bin", "AP repeated", "AP new",
]  # fmt: skip


@with_event_options
def events(
    run: RunArgument,
    options: EventOptions,
    subject: Annotated[str | None, typer.Option(help="Only events with this subject.")] = None,
    relation: Annotated[str | None, typer.Option(help="Only events with this relation.")] = None,
    object: Annotated[str | None, typer.Option(help="Only events with this object.")] = None,
    entity: Annotated[str | None, typer.Option(help="Only events with this subject or object.")] = None,
    within: WithinOption = "1",
    top: Annotated[int, typer.Option(min=1, help="Number of events.")] = 50,
    sort: Annotated[
        str, typer.Option(help="probability, or lift for what is most unusual: probability over the usual rate.")
    ] = "probability",
    kind: Annotated[
        str | None, typer.Option(help="Only one kind of event: repeats, continues, begins, ends or new.")
    ] = None,
) -> None:
    """List the most likely events of the next time steps.

    Each event has the probability that it happens in the window, and its usual rate. Only facts before the first step
    of the window are used. Any unambiguous prefix of a name is accepted, in any case.
    """
    from titer.forecasting.jobs.tasks import EventsTask

    answer(
        EventsTask(entity, within, top, sort, kind, options.evidence),
        run,
        (subject, relation, object),
        options,
        complete=False,
    )


def evaluate_events(run: Path, split: str, horizon: int, until: str | None, device: str, *, json: bool) -> None:
    """Evaluate the event forecasts of a run, record the result and print it."""
    from titer.events.evaluate import evaluate_events as evaluate
    from titer.events.evaluate import evaluated_steps, seems_incomplete
    from titer.forecasting.forecaster import Forecaster
    from titer.runs.events import event_model, record_events
    from titer.runs.run import Run

    opened = Run(run)
    forecaster = Forecaster.load(run, device)
    dataset = opened.dataset
    last = None if until is None else dataset.axis.step(until)
    steps = evaluated_steps(dataset, split, last)  # an error is seen before anything is trained
    prepare_events(forecaster)
    found = evaluate(event_model(opened, forecaster.model), forecaster.model, dataset, split, horizon, until=last)
    recorded = record_events(opened, found)
    facts = dataset.split(split)
    end = int(facts.time.max())
    if steps[-1] == end and seems_incomplete(facts):
        few = counted(int((facts.time == end).sum()), "fact")
        before = dataset.axis.label(int(facts.time[facts.time < end].max()))
        note(f"the last step has {few}, far fewer than others; if it is incomplete, add --until {before}")
    if json:
        say_json(recorded)
        return
    say(f"events of {dataset.name}, {split} split{'' if until is None else f' until {until}'}, with {found.model}")
    for title, rows in (
        (f"{counted(horizon, 'step')} ahead", found.at_step),
        (f"windows of {horizon} steps", found.in_window),
    ):
        if rows:
            say(f"\n{title}: {next(iter(rows.values())).events:,} events")
            say_table(HEADER, [[name, *_cells(metrics)] for name, metrics in rows.items()])
    if found.waiting:
        say("\ntime until facts that occurred lately happen again, in steps")
        say_table(
            ["", "CRPS", "error of the median"],
            [[name, f"{one.crps:.3f}", f"{one.median_error:.2f}"] for name, one in found.waiting.items()],
        )
    _show_reliability(next(iter(found.at_step.values()), None))


def _cells(metrics: "EventMetrics") -> list[str]:
    return [
        f"{metrics.average_precision:.4f}",
        f"{metrics.precision_at_n:.4f}",
        f"{metrics.recall[100]:.3f}",
        f"{metrics.recall[1000]:.3f}",
        f"{metrics.brier_skill:.3f}",
        f"{metrics.log_score:.3f}",
        f"{metrics.expected_per_event:.3f}",
        "–" if (worst := metrics.worst_bin()) is None else f"{100 * worst:.1f}",
        f"{metrics.average_precision_repeated:.4f}",
        f"{metrics.average_precision_new:.4f}",
    ]


def _show_reliability(metrics: "EventMetrics | None") -> None:
    if metrics is None:
        return
    say("\nreliability: forecasts by probability, and how many of them happened")
    rows = [[f"{b.forecasts:,}", f"{b.probability:.3f}", f"{b.frequency:.3f}"] for b in metrics.reliability]
    say_table(["forecasts", "probability", "happened"], rows, numbers_from=0)
