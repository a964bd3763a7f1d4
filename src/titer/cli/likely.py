"""The command ``titer likely``."""

from titer.cli.event_questions import (
    EventOptions,
    ObjectArgument,
    RelationArgument,
    SubjectArgument,
    WithinOption,
    answer,
    with_event_options,
)
from titer.cli.options import RunArgument

EXAMPLES = (
    'titer likely runs/first China "Express intent to meet or negotiate" Japan --within 10d',
    "titer likely runs/first --file questions.csv --within 7d --out answers.csv",
)


@with_event_options
def likely(
    run: RunArgument,
    options: EventOptions,
    subject: SubjectArgument = None,
    relation: RelationArgument = None,
    object: ObjectArgument = None,
    within: WithinOption = "1",
) -> None:
    """Estimate how likely an event is to happen within a window of time steps.

    For a lasting fact that holds just before the window, the answer is whether it still holds in the last step. Only
    facts before the first step of the window are used. Any unambiguous prefix of a name is accepted, in any case.
    """
    from titer.forecasting.jobs.tasks import LikelyTask

    answer(LikelyTask(within, options.evidence), run, (subject, relation, object), options)
