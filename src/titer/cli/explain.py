"""The command ``titer explain``."""

from dataclasses import replace
from typing import Annotated

import typer

from titer.cli.batch import note_no_evidence
from titer.cli.interruption import note_state
from titer.cli.options import DeviceOption, JsonOption, RunArgument, StoreOption, ThreadsOption
from titer.cli.screen import say, say_json

EXAMPLES = (
    'titer explain runs/first Caldera invite "Nadia Torvald" --at 2023-07-01',
    'titer explain runs/first Caldera invite "Nadia Torvald" --asks-subject --reasons 20 --json',
)


def explain(
    run: RunArgument,
    subject: Annotated[str, typer.Argument(help="Name of the subject.")],
    relation: Annotated[str, typer.Argument(help="Name of the relation.")],
    object: Annotated[str, typer.Argument(help="Name of the object: the answer to explain.")],
    at: Annotated[
        str | None,
        typer.Option(
            metavar="DATE", help="Time of the question, written as in the dataset (default: the next time step)."
        ),
    ] = None,
    asks_subject: Annotated[
        bool, typer.Option("--asks-subject", help="Explain SUBJECT as the answer to ? RELATION OBJECT instead.")
    ] = False,
    reasons: Annotated[
        int, typer.Option(min=1, help="Pieces of evidence. Paths that differ only in dates count as one.")
    ] = 10,
    store: StoreOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Show the evidence for one answer, whatever its rank: OBJECT as the answer to SUBJECT RELATION ?.

    Every fact of a path has the numbers that the model computed for it. For titer these are the probability of the hop
    under the policy and beta, the weight of the entity against the relation; for xerte, the attention.
    """
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.question import Question

    note_state(run)
    question = Question(None, relation, object, at) if asks_subject else Question(subject, relation, None, at)
    forecaster = Forecaster.load(run, device, store)
    note_no_evidence(forecaster, reasons)
    answer = forecaster.explain(question, subject if asks_subject else object, limit=reasons)
    asked = forecaster.ask(question.subject, relation, question.object, at=at, top=1)
    found = replace(asked, answers=(answer,))
    if json:
        say_json(found.to_dict())
    else:
        say(str(found))
