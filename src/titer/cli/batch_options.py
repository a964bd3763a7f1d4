"""The options of commands that answer files of questions."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
from titer.errors import TiterError

if TYPE_CHECKING:
    from titer.data.readers.options import TableOptions

FOLDER = "pass --file QUESTIONS --out FOLDER/"


class Engine(StrEnum):
    """What answers the questions of a file."""

    local = "local"
    ray = "ray"


class PartitionFormat(StrEnum):
    """The formats of the files in a folder of answers."""

    parquet = "parquet"
    csv = "csv"
    jsonl = "jsonl"


QuestionsOption = Annotated[
    str | None,
    typer.Option(
        "--file",
        metavar="QUESTIONS",
        help="CSV, JSON lines or Parquet with columns subject, relation, object, time: a file, a folder, a pattern "
        "such as 'questions/*.parquet', or a URL such as s3://bucket/questions.",
    ),
]
AnswersOption = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="ANSWERS",
        help="A file (.csv, .jsonl or .parquet), or a folder or URL for a job that can be continued after an "
        "interruption.",
    ),
]
EngineOption = Annotated[
    Engine, typer.Option("--engine", help="What answers a file of questions: this process, or a Ray cluster.")
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address", metavar="ADDRESS", help="A running Ray cluster, or auto to find it (default: start Ray here)."
    ),
]
RayWorkersOption = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Workers on the Ray cluster, each with a model (default: as many as fit)."),
]
GpusOption = Annotated[
    float, typer.Option("--gpus-per-worker", min=0.0, help="GPUs of each worker; 0.5 if two workers share one.")
]
PartitionSizeOption = Annotated[
    int | None,
    typer.Option("--partition-size", min=1, help="Questions for each file of a folder (default: 8192)."),
]
FormatOption = Annotated[
    PartitionFormat | None,
    typer.Option("--format", help="Format of the files in a folder of answers (default: parquet)."),
]


@dataclass(frozen=True)
class BatchOptions:
    """The options of every command that answers a question or a file of them; a subclass may have more."""

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
    partition_size: PartitionSizeOption = None
    format: FormatOption = None
    overwrite: OverwriteOption = False
    raw_csv: RawCsvOption = False
    store: StoreOption = None
    device: DeviceOption = "auto"
    threads: ThreadsOption = None
    json: JsonOption = False

    def __post_init__(self) -> None:
        """Reject options that would have no effect.

        Raises:
            TiterError: An option needs another one that is not given.
        """
        if self.engine is Engine.local:
            for_ray = {"--address": self.address, "--workers": self.workers, "--gpus-per-worker": self.gpus_per_worker}
            if given := [name for name, value in for_ray.items() if value]:
                raise TiterError(f"{given[0]} needs --engine ray")
        elif self.file is None:
            raise TiterError("--engine ray needs --file")
        for_folder = {"--partition-size": self.partition_size, "--format": self.format}
        if (given := [name for name, value in for_folder.items() if value]) and not (self.file and self.has_folder):
            raise TiterError(f"{given[0]} is for files of questions that are answered into a folder: {FOLDER}")

    @property
    def has_folder(self) -> bool:
        """Whether the answers are written into a folder."""
        out = self.out
        return out is not None and (out.endswith("/") or "://" in out or not Path(out).suffix or Path(out).is_dir())

    @property
    def table(self) -> "TableOptions":
        """How the file of questions is written."""
        form = (self.column, self.names, self.delimiter)
        return table_options(*form, constant=self.constant, encoding=self.encoding, date_format=self.date_format)


def with_options(kind: type[BatchOptions]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command the options of a dataclass; they reach it as ``options``.

    Args:
        kind: The dataclass. The options of a subclass come before those of all commands.
    """
    common = {field.name for field in fields(BatchOptions)}
    shared = [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
        for field in sorted(fields(kind), key=lambda field: field.name in common)
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [parameter for name, parameter in signature(command).parameters.items() if name != "options"]

        @wraps(command)
        def run(**given: Any) -> None:
            options = kind(**{parameter.name: given.pop(parameter.name) for parameter in shared})
            command(**given, options=options)

        every = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in own] + shared
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        run.__dict__["__signature__"] = signature(command).replace(parameters=every)
        return run

    return decorate
