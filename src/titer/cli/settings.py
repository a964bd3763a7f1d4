"""The command ``titer settings``."""

import textwrap
from dataclasses import asdict
from typing import Annotated

import typer

from titer.cli.options import JsonOption
from titer.cli.screen import say, say_json
from titer.training.config import DEFAULT_MODEL

EXAMPLES = ("titer settings path_mixture", "titer settings titer --json")
WIDTH = 100


def settings(
    model: Annotated[
        str, typer.Argument(metavar="[MODEL]", help="Name of a model; titer models lists all of them.")
    ] = DEFAULT_MODEL,
    json: JsonOption = False,
) -> None:
    """List the settings of a model and of its training: default, accepted values and meaning.

    titer train --set NAME=VALUE changes a setting.
    """
    from titer.training.setting_list import settings_of

    found = settings_of(model)
    if json:
        say_json([asdict(one) for one in found])
        return
    say(f"{model}: titer train DATASET --model {model} --set NAME=VALUE")
    for one in found:
        say()
        say(f"{one.name} = {_shown(one.default)}  ({one.range})")
        for line in textwrap.wrap(one.description, WIDTH - 4):
            say(f"    {line}")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(list(value)) if isinstance(value, tuple) else str(value)
