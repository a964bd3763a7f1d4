"""What the commands ``titer events``, ``titer likely`` and ``titer when`` share."""

import json as json_text
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titer.cli.options import DeviceOption, JsonOption, OverwriteOption, StoreOption, ThreadsOption
from titer.cli.screen import note, say, say_json
from titer.errors import TiterError

if TYPE_CHECKING:
    from titer.forecasting.events.tables import AnyResult
    from titer.forecasting.forecast import Unanswered
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.question import Question

SubjectArgument = Annotated[str | None, typer.Argument(metavar="SUBJECT", help="Name of the subject.")]
RelationArgument = Annotated[str | None, typer.Argument(metavar="RELATION", help="Name of the relation.")]
ObjectArgument = Annotated[str | None, typer.Argument(metavar="OBJECT", help="Name of the object.")]
WithinOption = Annotated[
    str,
    typer.Option(metavar="DURATION", help="Length of the window: time steps, such as 7, or a duration, such as 7d."),
]


@dataclass(frozen=True)
class EventOptions:
    """The options of every question about events."""

    start: Annotated[
        str | None,
        typer.Option("--from", metavar="DATE", help="First time step, as in the dataset (default: the next one)."),
    ] = None
    explain: Annotated[bool, typer.Option("--explain", help="Show the evidence for each event.")] = False
    reasons: Annotated[int, typer.Option(min=1, help="Pieces of evidence of each sort per event.")] = 3
    file: Annotated[
        Path | None,
        typer.Option(
            help="File of questions: CSV, JSON lines or Parquet with columns subject, relation, object, time."
        ),
    ] = None
    out: Annotated[Path | None, typer.Option(help="File for the results: .csv, .jsonl or .parquet.")] = None
    overwrite: OverwriteOption = False
    store: StoreOption = None
    device: DeviceOption = "auto"
    threads: ThreadsOption = None
    json: JsonOption = False

    @property
    def evidence(self) -> int:
        """How many pieces of evidence to show."""
        return self.reasons if self.explain else 0


def with_event_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that has the options of ``EventOptions`` too; they reach it as ``options``."""
    own = [parameter for name, parameter in signature(command).parameters.items() if name != "options"]
    shared = [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
        for field in fields(EventOptions)
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        options = EventOptions(**{parameter.name: given.pop(parameter.name) for parameter in shared})
        command(**given, options=options)

    every = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in own] + shared
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
    run.__dict__["__signature__"] = signature(command).replace(parameters=every)
    return run


def answer(
    ask: "Callable[[Forecaster, Question], AnyResult]",
    run: Path,
    names: tuple[str | None, str | None, str | None],
    options: EventOptions,
    *,
    complete: bool = True,
) -> None:
    """Answer one question, or all of a file, on the screen or into a file.

    Args:
        ask: Answers one question.
        run: The run directory.
        names: Subject, relation and object.
        options: The options of the command.
        complete: Whether the question must have all three names.
    """
    from titer.forecasting.answer_files import check_can_write
    from titer.forecasting.events.tables import write_events
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.question import Question
    from titer.forecasting.question_files import read_questions

    # Errors in the files are reported before the model is loaded.
    if options.out is not None:
        check_can_write(options.out, overwrite=options.overwrite)
    if options.file is not None and any((*names, options.start)):
        raise TiterError("--file cannot be combined with names or --from")
    questions = read_questions(options.file) if options.file is not None else None
    if questions is None and complete and not all(names):
        raise TiterError("give SUBJECT RELATION OBJECT, or --file QUESTIONS")
    forecaster = Forecaster.load(run, options.device, options.store)
    prepare_events(forecaster)
    one = Question(names[0], names[1] or "", names[2], options.start)
    results = iter([ask(forecaster, one)]) if questions is None else _answers(ask, forecaster, questions)
    if options.out is not None:
        write_events(results, options.out, overwrite=options.overwrite)
        note(f"{options.out}: written")
        return
    for result in results:
        if options.json and questions is None:
            say_json(result.to_dict())
        else:
            say(json_text.dumps(result.to_dict(), ensure_ascii=False) if options.json else f"{result}\n".rstrip("\n"))


def prepare_events(forecaster: "Forecaster") -> None:
    """Load the event model of a run; if it has none, train and keep it, and say so."""
    if forecaster.has_events:
        return
    note("training the event model, once for this run")
    forecaster.prepare_events()
    if forecaster.run is not None and not forecaster.has_stored_events:
        note(f"{forecaster.run.path} cannot be written to, so the event model is not kept")


def _answers(
    ask: "Callable[[Forecaster, Question], AnyResult]",
    forecaster: "Forecaster",
    questions: "Iterator[Question | Unanswered]",
) -> "Iterator[AnyResult]":
    from titer.forecasting.forecast import Unanswered

    for question in questions:
        if isinstance(question, Unanswered):
            yield question
            continue
        try:
            yield ask(forecaster, question)
        except TiterError as error:
            yield Unanswered.because(question, error)
