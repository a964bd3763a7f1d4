"""What the commands ``titer events``, ``titer likely`` and ``titer when`` share."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titer.cli.batch import BatchRequest, prepare_events
from titer.cli.batch_options import (
    AddressOption,
    AnswersOption,
    Engine,
    EngineOption,
    FormatOption,
    GpusOption,
    PartitionFormat,
    PartitionSizeOption,
    QuestionsOption,
    RayWorkersOption,
)
from titer.cli.options import (
    ColumnOption,
    ConstantOption,
    DateFormatOption,
    DelimiterOption,
    DeviceOption,
    EncodingOption,
    JsonOption,
    NamesOption,
    OverwriteOption,
    RawCsvOption,
    StoreOption,
    ThreadsOption,
    table_options,
)
from titer.cli.screen import note, say, say_json
from titer.errors import TiterError

if TYPE_CHECKING:
    from titer.data.readers.options import TableOptions
    from titer.forecasting.jobs.tasks import EventTask

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
    file: QuestionsOption = None
    out: AnswersOption = None
    column: ColumnOption = None
    constant: ConstantOption = None
    names: NamesOption = None
    delimiter: DelimiterOption = None
    encoding: EncodingOption = None
    date_format: DateFormatOption = None
    engine: EngineOption = Engine.local
    address: AddressOption = None
    workers: RayWorkersOption = None
    gpus_per_worker: GpusOption = 0.0
    partition_size: PartitionSizeOption = 8192
    format: FormatOption = PartitionFormat.parquet
    overwrite: OverwriteOption = False
    raw_csv: RawCsvOption = False
    store: StoreOption = None
    device: DeviceOption = "auto"
    threads: ThreadsOption = None
    json: JsonOption = False

    @property
    def evidence(self) -> int:
        """How many pieces of evidence to show."""
        return self.reasons if self.explain else 0

    @property
    def table(self) -> "TableOptions":
        """How the file of questions is written."""
        form = {"encoding": self.encoding, "date_format": self.date_format}
        return table_options(self.column, self.names, self.delimiter, constant=self.constant, **form)


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
    from titer.forecasting.events.tables import write_events
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.question import Question

    if options.file is not None:
        if any((*names, options.start)):
            raise TiterError("--file cannot be combined with names or --from")
        own = {field.name for field in fields(EventOptions)}
        shared = {field.name: getattr(options, field.name) for field in fields(BatchRequest) if field.name in own}
        BatchRequest(run, **shared, options=options.table).answer(task)
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
        say(f"{result}\n".rstrip("\n"))
