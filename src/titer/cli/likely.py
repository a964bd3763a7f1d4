"""The command ``titer likely``."""

from typing import TYPE_CHECKING

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
from titer.errors import TiterError

if TYPE_CHECKING:
    from titer.forecasting.events.results import Likelihood
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.question import Question

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
    """Say how likely an event is to happen within a window of time steps.

    Only facts before the first step of the window are used. Any unambiguous prefix of a name is accepted, in any case.
    """

    def ask(forecaster: "Forecaster", question: "Question") -> "Likelihood":
        names = three_names(question)
        return forecaster.likely(*names, within, start=question.at, explain=options.evidence)

    answer(ask, run, (subject, relation, object), options)


def three_names(question: "Question") -> tuple[str, str, str]:
    """Return subject, relation and object of a question that must have all three."""
    if not (question.subject and question.relation and question.object):
        raise TiterError("give subject, relation and object")
    return question.subject, question.relation, question.object
