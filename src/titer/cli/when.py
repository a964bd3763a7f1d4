"""The command ``titer when``."""

from typing import TYPE_CHECKING

from titer.cli.event_questions import (
    EventOptions,
    ObjectArgument,
    RelationArgument,
    SubjectArgument,
    answer,
    with_event_options,
)
from titer.cli.likely import three_names
from titer.cli.options import RunArgument

if TYPE_CHECKING:
    from titer.forecasting.events.results import WhenForecast
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.question import Question

EXAMPLES = (
    'titer when runs/first Aldoria "hold talks with" Brenmark',
    "titer when runs/first --file questions.csv --out curves.parquet",
)


@with_event_options
def when(
    run: RunArgument,
    options: EventOptions,
    subject: SubjectArgument = None,
    relation: RelationArgument = None,
    object: ObjectArgument = None,
) -> None:
    """Say when an event happens next: quantiles, and the probability of each of the next 30 time steps.

    Only facts before the first step are used. Any unambiguous prefix of a name is accepted, in any case.
    """

    def ask(forecaster: "Forecaster", question: "Question") -> "WhenForecast":
        return forecaster.when(*three_names(question), start=question.at, explain=options.evidence)

    answer(ask, run, (subject, relation, object), options)
