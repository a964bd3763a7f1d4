"""``titer forecast``."""

from typing import Annotated

import typer

from titer.cli.options import DeviceOption, JsonOption, RunArgument
from titer.cli.screen import say, say_json


def forecast(
    run: RunArgument,
    subject: Annotated[str, typer.Argument(help="Who; or ? to ask for the subject of OBJECT.")],
    relation: Annotated[str, typer.Argument(help="Does what.")],
    object: Annotated[str | None, typer.Argument(metavar="[OBJECT]", help="To whom, if SUBJECT is ?.")] = None,
    at: Annotated[
        str | None, typer.Option(help="When: a date (or number) as in the data; by default the next step.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many answers.")] = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Show the past facts behind each answer.")] = False,
    reasons: Annotated[int, typer.Option(min=1, help="How many kinds of facts or paths to show for an answer.")] = 3,
    device: DeviceOption = "auto",
    json: JsonOption = False,
) -> None:
    """Answer a question about the future (or, as it could have been answered then, about the past).

    Names may be typed in any case, and cut short where only one begins so. Nothing at or after the question's own
    time is looked at.
    """
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.text import as_text

    asked = None if subject == "?" else subject
    found = Forecaster.load(run, device).ask(asked, relation, object, at=at, top=top, explain=reasons if explain else 0)
    if json:
        say_json(found.to_dict())
    else:
        say(as_text(found))
