"""What the commands ``titer events``, ``titer likely`` and ``titer when`` share."""

import json as json_text
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from titer.cli.screen import note, say, say_json
from titer.errors import TiterError

if TYPE_CHECKING:
    from titer.forecasting.events.tables import AnyResult
    from titer.forecasting.forecast import Unanswered
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.question import Question

FromOption = Annotated[
    str | None,
    typer.Option("--from", metavar="DATE", help="First time step, as in the dataset (default: the next time step)."),
]
WithinOption = Annotated[
    str,
    typer.Option(metavar="DURATION", help="Length of the window: time steps, such as 7, or a duration, such as 7d."),
]
ExplainOption = Annotated[bool, typer.Option("--explain", help="Show the evidence for each event.")]
ReasonsOption = Annotated[int, typer.Option(min=1, help="Pieces of evidence of each sort per event.")]
FileOption = Annotated[
    Path | None,
    typer.Option(help="File of questions: CSV, JSON lines or Parquet with columns subject, relation, object, time."),
]
OutOption = Annotated[Path | None, typer.Option(help="File for the results: .csv, .jsonl or .parquet.")]


def answer(
    ask: "Callable[[Forecaster, Question], AnyResult]",
    question: "Question",
    run: Path,
    store: str | None,
    device: str,
    *,
    file: Path | None,
    out: Path | None,
    overwrite: bool,
    json: bool,
    may_be_empty: bool = False,
) -> None:
    """Answer one question, or all of a file, on the screen or into a file."""
    from titer.forecasting.answer_files import check_can_write
    from titer.forecasting.events.tables import write_events
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.question_files import read_questions

    # Errors in the files are reported before the model is loaded.
    if out is not None:
        check_can_write(out, overwrite=overwrite)
    if file is not None and any((question.subject, question.relation, question.object, question.at)):
        raise TiterError("--file cannot be combined with names or --from")
    questions = read_questions(file) if file is not None else None
    if questions is None and not may_be_empty and not (question.subject and question.relation and question.object):
        raise TiterError("give SUBJECT RELATION OBJECT, or --file QUESTIONS")
    forecaster = Forecaster.load(run, device, store)
    results = iter([ask(forecaster, question)]) if questions is None else _answers(ask, forecaster, questions)
    if out is not None:
        write_events(results, out, overwrite=overwrite)
        note(f"{out}: written")
        return
    for result in results:
        if json and questions is None:
            say_json(result.to_dict())
        else:
            say(json_text.dumps(result.to_dict(), ensure_ascii=False) if json else f"{result}\n".rstrip("\n"))


def _answers(
    ask: "Callable[[Forecaster, Question], AnyResult]",
    forecaster: "Forecaster",
    questions: "Iterator[Question | Unanswered]",
) -> "Iterator[AnyResult]":
    from titer.forecasting.forecast import Unanswered

    for question in questions:
        if isinstance(question, Unanswered):
            yield question
            continue
        try:
            yield ask(forecaster, question)
        except TiterError as error:
            yield Unanswered.because(question, error)
