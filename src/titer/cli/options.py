"""Options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, as left by titer train.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace what is already there.")]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        envvar="TITER_STORE",
        show_envvar=False,
        help="Database of added facts, such as postgresql://USER@HOST/NAME (or TITER_STORE); by default RUN/facts.db.",
    ),
]
DeviceOption = Annotated[str, typer.Option("--device", help="cpu, cuda or auto.")]


class Split(StrEnum):
    """The splits that can be measured on."""

    valid = "valid"
    test = "test"
