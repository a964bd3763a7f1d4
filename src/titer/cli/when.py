"""The command ``titer when``."""

from typing import TYPE_CHECKING, Annotated

import typer

from titer.cli.event_questions import ExplainOption, FileOption, FromOption, OutOption, ReasonsOption, answer
from titer.cli.likely import three_names
from titer.cli.options import DeviceOption, JsonOption, OverwriteOption, RunArgument, StoreOption, ThreadsOption

if TYPE_CHECKING:
    from titer.forecasting.events.results import WhenForecast
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.question import Question

EXAMPLES = (
    'titer when runs/first Aldoria "hold talks with" Brenmark',
    "titer when runs/first --file questions.csv --out curves.parquet",
)


def when(
    run: RunArgument,
    subject: Annotated[str | None, typer.Argument(metavar="SUBJECT", help="Name of the subject.")] = None,
    relation: Annotated[str | None, typer.Argument(metavar="RELATION", help="Name of the relation.")] = None,
    object: Annotated[str | None, typer.Argument(metavar="OBJECT", help="Name of the object.")] = None,
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
    """Say when an event happens next: quantiles, and the probability of each of the next 30 time steps.

    Only facts before the first step are used. Any unambiguous prefix of a name is accepted, in any case.
    """
    from titer.forecasting.question import Question

    def ask(forecaster: "Forecaster", question: "Question") -> "WhenForecast":
        return forecaster.when(*three_names(question), start=question.at, explain=reasons if explain else 0)

    one = Question(subject, relation or "", object, start)
    answer(ask, one, run, store, device, file=file, out=out, overwrite=overwrite, json=json)
