"""The options of commands that answer files of questions."""

from enum import StrEnum
from typing import Annotated

import typer


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
    typer.Option(metavar="ADDRESS", help="A running Ray cluster, or auto to find it (default: start Ray here)."),
]
RayWorkersOption = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Workers on the Ray cluster, each with a model (default: as many as fit)."),
]
GpusOption = Annotated[
    float, typer.Option("--gpus-per-worker", min=0.0, help="GPUs of each worker; 0.5 if two workers share one.")
]
PartitionSizeOption = Annotated[
    int, typer.Option("--partition-size", min=1, help="Questions for each file of a folder.")
]
FormatOption = Annotated[PartitionFormat, typer.Option("--format", help="Format of the files in a folder of answers.")]
