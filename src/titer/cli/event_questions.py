"""What the commands ``titer events``, ``titer likely`` and ``titer when`` share."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from titer.cli.batch import QuestionBatch, prepare_events
from titer.cli.batch_options import BatchOptions, with_options
from titer.cli.screen import note, say, say_json, terminal_width
from titer.errors import TiterError

if TYPE_CHECKING:
    from titer.forecasting.jobs.tasks import EventTask

SubjectArgument = Annotated[str | None, typer.Argument(metavar="SUBJECT", help="Name of the subject.")]
RelationArgument = Annotated[str | None, typer.Argument(metavar="RELATION", help="Name of the relation.")]
ObjectArgument = Annotated[str | None, typer.Argument(metavar="OBJECT", help="Name of the object.")]
WithinOption = Annotated[
    str,
    typer.Option(metavar="DURATION", help="Length of the window: time steps, such as 7, or a duration, such as 7d."),
]


@dataclass(frozen=True)
class EventOptions(BatchOptions):
    """The options of every question about events."""

    start: Annotated[
        str | None,
        typer.Option("--from", metavar="DATE", help="First time step, as in the dataset (default: the next one)."),
    ] = None
    explain: Annotated[bool, typer.Option("--explain", help="Show the evidence for each event.")] = False
    reasons: Annotated[int, typer.Option(min=1, help="Pieces of evidence of each sort per event.")] = 3

    @property
    def evidence(self) -> int:
        """How many pieces of evidence to show."""
        return self.reasons if self.explain else 0


with_event_options = with_options(EventOptions)
"""Gives a command the options of ``EventOptions``."""


def answer(
    task: "EventTask",
    run: Path,
    names: tuple[str | None, str | None, str | None],
    options: EventOptions,
    *,
    complete: bool = True,
) -> None:
    """Answer one question, or all of a file, on the screen or into files.

    Args:
        task: What to ask.
        run: The run directory.
        names: Subject, relation and object.
        options: The options of the command.
        complete: Whether the question must have all three names.
    """
    from titer.forecasting.answer_files import check_can_write
    from titer.forecasting.events.render import as_text
    from titer.forecasting.events.tables import write_events
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.question import Question

    if options.file is not None:
        if any((*names, options.start)):
            raise TiterError("--file cannot be combined with names or --from")
        QuestionBatch(run, options).answer(task)
        return
    # Errors in the options are reported before the model is loaded.
    if options.out is not None:
        check_can_write(Path(options.out), overwrite=options.overwrite)
    if complete and not all(names):
        raise TiterError("give SUBJECT RELATION OBJECT, or --file QUESTIONS")
    forecaster = Forecaster.load(run, options.device, options.store)
    prepare_events(forecaster)
    result = task.ask(forecaster, Question(names[0], names[1] or "", names[2], options.start))
    if options.out is not None:
        write_events([result], Path(options.out), overwrite=options.overwrite, raw_csv=options.raw_csv)
        note(f"{options.out}: written")
    elif options.json:
        say_json(result.to_dict())
    else:
        say(as_text(result, terminal_width()))
