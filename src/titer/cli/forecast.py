"""The command ``titer forecast``."""

from typing import Annotated

import typer

from titer.cli.batch import QuestionBatch, note_no_evidence
from titer.cli.batch_options import BatchOptions, with_options
from titer.cli.interruption import note_state
from titer.cli.options import RunArgument
from titer.cli.screen import say, say_json
from titer.errors import TiterError

FACT = '"SUBJECT | RELATION | OBJECT | DATE"'
EXAMPLES = (
    "titer forecast runs/first Caldera invite --explain",
    'titer forecast runs/first "?" invite "Nadia Torvald" --at 2023-07-01 --top 3',
    'titer forecast runs/first Caldera invite --without "Caldera | accuse | Drovia | 2023-06-28"',
    'titer forecast runs/first Caldera invite --without "Caldera | accuse | Drovia"',
    "titer forecast runs/first --file questions.csv --out answers.parquet",
    "titer forecast runs/first --file asked.csv --column subject=who --column relation=what --delimiter ';'",
    "titer forecast runs/first --file 'questions/*.parquet' --out answers/ --engine ray --workers 4",
)


@with_options(BatchOptions)
def forecast(
    run: RunArgument,
    options: BatchOptions,
    subject: Annotated[
        str | None,
        typer.Argument(metavar="[SUBJECT]", help="Name of the subject, or ? to ask for the subject of OBJECT."),
    ] = None,
    relation: Annotated[str | None, typer.Argument(metavar="[RELATION]", help="Name of the relation.")] = None,
    object: Annotated[
        str | None, typer.Argument(metavar="[OBJECT]", help="Name of the object, only if SUBJECT is ?.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Time of the question, as in the dataset, or today, tomorrow, or +7d for 7 days after the last known "
            "fact (default: the next time step).",
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of answers.")] = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Show the evidence for each answer.")] = False,
    reasons: Annotated[
        int, typer.Option(min=1, help="Pieces of evidence per answer. Paths that differ only in dates count as one.")
    ] = 3,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACT",
            help=f"Remove a fact from the history: {FACT} or a CSV row; without DATE, all such facts. Repeatable.",
        ),
    ] = None,
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="FACT", help="Add a fact to the history; new entities are allowed. Repeatable."),
    ] = None,
) -> None:
    """Answer a question: SUBJECT RELATION ? or ? RELATION OBJECT.

    Any unambiguous prefix of a name is accepted, in any case. Only facts before the time of the question are used, also
    for a question about the past. With --without and --with, the output shows how the ranks and probabilities change.

    In a file of questions, ? or an empty field marks what is asked for. Its columns may be named as in the files of the
    dataset, or given with --column. An invalid question does not stop the others: its error is in the column "error" of
    the answers. Other columns of the file are kept. Answers in a folder are ordered by the time of the questions; a job
    that was interrupted goes on when the same command is run again.
    """
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.jobs.tasks import AnswerTask
    from titer.forecasting.question import Question

    explained = reasons if explain else 0
    if options.file is not None:
        if subject is not None or at is not None or without or with_:
            raise TiterError("--file cannot be combined with SUBJECT, --at, --without or --with")
        QuestionBatch(run, options).answer(AnswerTask(top, explained))
        return
    if subject is None or relation is None:
        raise TiterError("give SUBJECT RELATION, or ? RELATION OBJECT, or --file QUESTIONS")
    if options.out is not None:
        raise TiterError("--out needs --file; use --json for the answers to one question")
    question = Question(subject, relation, object, at)
    note_state(run)
    forecaster = Forecaster.load(run, options.device, options.store)
    note_no_evidence(forecaster, explained)
    found = (
        forecaster.what_if(question, without=without or (), with_=with_ or (), top=top, explain=explained)
        if without or with_
        else forecaster.ask(
            question.subject, question.relation, question.object, at=question.at, top=top, explain=explained
        )
    )
    if options.json:
        say_json(found.to_dict())
    else:
        say(str(found))
