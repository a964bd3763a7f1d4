"""The command ``titer when``."""

from titer.cli.event_questions import (
    EventOptions,
    ObjectArgument,
    RelationArgument,
    SubjectArgument,
    answer,
    with_event_options,
)
from titer.cli.options import RunArgument

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
    """Forecast when an event happens next: quantiles, and the probability of each of the next 30 time steps.

    For a lasting fact that holds just before the first step, the answer is when it ends. Only facts before the first
    step are used. Any unambiguous prefix of a name is accepted, in any case.
    """
    from titer.forecasting.jobs.tasks import WhenTask

    answer(WhenTask(options.evidence), run, (subject, relation, object), options)
