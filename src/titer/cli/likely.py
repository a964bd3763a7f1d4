"""The command ``titer likely``."""

from typing import TYPE_CHECKING, Annotated

import typer

from titer.cli.event_questions import (
    ExplainOption,
    FileOption,
    FromOption,
    OutOption,
    ReasonsOption,
    WithinOption,
    answer,
)
from titer.cli.options import DeviceOption, JsonOption, OverwriteOption, RunArgument, StoreOption, ThreadsOption
from titer.errors import TiterError

if TYPE_CHECKING:
    from titer.forecasting.events.results import Likelihood
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.question import Question

EXAMPLES = (
    'titer likely runs/first China "Express intent to meet or negotiate" Japan --within 10d',
    "titer likely runs/first --file questions.csv --within 7d --out answers.csv",
)


def likely(
    run: RunArgument,
    subject: Annotated[str | None, typer.Argument(metavar="SUBJECT", help="Name of the subject.")] = None,
    relation: Annotated[str | None, typer.Argument(metavar="RELATION", help="Name of the relation.")] = None,
    object: Annotated[str | None, typer.Argument(metavar="OBJECT", help="Name of the object.")] = None,
    within: WithinOption = "1",
    start: FromOption = None,
    explain: ExplainOption = False,
    reasons: ReasonsOption = 3,
    file: FileOption = None,
    out: OutOption = None,
    overwrite: OverwriteOption = False,
    store: StoreOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Say how likely an event is to happen within a window of time steps.

    Only facts before the first step of the window are used. Any unambiguous prefix of a name is accepted, in any case.
    """
    from titer.forecasting.question import Question

    def ask(forecaster: "Forecaster", question: "Question") -> "Likelihood":
        names = three_names(question)
        return forecaster.likely(*names, within, start=question.at, explain=reasons if explain else 0)

    one = Question(subject, relation or "", object, start)
    answer(ask, one, run, store, device, file=file, out=out, overwrite=overwrite, json=json)


def three_names(question: "Question") -> tuple[str, str, str]:
    """Return subject, relation and object of a question that must have all three."""
    if not (question.subject and question.relation and question.object):
        raise TiterError("give subject, relation and object")
    return question.subject, question.relation, question.object
