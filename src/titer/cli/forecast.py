"""``titer forecast``."""

import json as json_text
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from titer.cli.options import DeviceOption, JsonOption, OverwriteOption, RunArgument, StoreOption
from titer.cli.screen import note, say, say_json
from titer.errors import TiterError

if TYPE_CHECKING:
    from titer.forecasting.forecast import Forecast, Unanswered
    from titer.forecasting.forecaster import Forecaster

FACT = '"SUBJECT | RELATION | OBJECT | DATE"'


def forecast(
    run: RunArgument,
    subject: Annotated[
        str | None, typer.Argument(metavar="[SUBJECT]", help="Who; or ? to ask for the subject of OBJECT.")
    ] = None,
    relation: Annotated[str | None, typer.Argument(metavar="[RELATION]", help="Does what.")] = None,
    object: Annotated[str | None, typer.Argument(metavar="[OBJECT]", help="To whom, if SUBJECT is ?.")] = None,
    at: Annotated[
        str | None, typer.Option(help="When: a date (or number) as in the data; by default the next step.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many answers.")] = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Show the past facts behind each answer.")] = False,
    reasons: Annotated[int, typer.Option(min=1, help="How many kinds of facts or paths to show for an answer.")] = 3,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="FACT", help=f"What if this had not happened: {FACT}, or a row of CSV. Repeatable."),
    ] = None,
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="FACT", help="What if this had happened; it may name new actors. Repeatable."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="Many questions: CSV, JSON lines or Parquet with columns subject, relation, object, time."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where their answers go: .csv, .jsonl or .parquet, a row for every answer.")
    ] = None,
    overwrite: OverwriteOption = False,
    store: StoreOption = None,
    device: DeviceOption = "auto",
    json: JsonOption = False,
) -> None:
    """Answer a question about the future (or, as it could have been answered then, about the past).

    Names may be typed in any case, and cut short where only one begins so. Nothing at or after the question's own
    time is looked at. With --without and --with the answers show where they stood before.

    In a file of questions, ? or nothing stands for what is asked. A question that makes no sense does not stop the
    others: the column "error" of the answers says what is wrong with it.
    """
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.question import Question

    explained = reasons if explain else 0
    if file is not None:
        if subject is not None or at is not None or without or with_:
            raise TiterError("with --file, questions and their times come from the file, and facts stay as they are")
        _answer_file(run, store, device, file, out, top, explained, overwrite=overwrite, json=json)
        return
    if subject is None or relation is None:
        raise TiterError("ask with SUBJECT RELATION, with ? RELATION OBJECT, or with --file QUESTIONS")
    if out is not None:
        raise TiterError("--out is for the answers to --file")
    question = Question(subject, relation, object, at)
    forecaster = Forecaster.load(run, device, store)
    _note_silence(forecaster, explained)
    found = (
        forecaster.what_if(question, without=without or (), with_=with_ or (), top=top, explain=explained)
        if without or with_
        else forecaster.ask(
            question.subject, question.relation, question.object, at=question.at, top=top, explain=explained
        )
    )
    if json:
        say_json(found.to_dict())
    else:
        say(str(found))


def _answer_file(
    run: Path,
    store: str | None,
    device: str,
    file: Path,
    out: Path | None,
    top: int,
    explain: int,
    *,
    overwrite: bool,
    json: bool,
) -> None:
    from titer.forecasting.answer_files import check_can_write, write_answers
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.question_files import count_rows, read_questions
    from titer.progress import track

    # What is wrong with the files is said before a model is loaded.
    if out is not None:
        check_can_write(out, overwrite=overwrite)
    questions, total = read_questions(file), count_rows(file)
    forecaster = Forecaster.load(run, device, store)
    _note_silence(forecaster, explain)
    results = forecaster.ask_many(questions, top=top, explain=explain)
    counted = _Counted(track(results, "answering", total))
    if out is not None:
        write_answers(counted, out, overwrite=overwrite)
        note(f"{out}: the answers to {counted.questions:,} questions")
    else:
        for result in counted:
            say(json_text.dumps(result.to_dict(), ensure_ascii=False) if json else f"{result}\n")
    if counted.unanswered:
        where = 'the column "error" says why' if out is not None else "see above"
        note(f"{counted.unanswered:,} of {counted.questions:,} questions could not be answered: {where}")


def _note_silence(forecaster: "Forecaster", explain: int) -> None:
    if explain and not forecaster.model.explains():
        note(f"note: {forecaster.model.name} has no evidence to show")


class _Counted:
    """Results, counted as they go by."""

    def __init__(self, results: "Iterator[Forecast | Unanswered]"):
        self.results = results
        self.questions = self.unanswered = 0

    def __iter__(self) -> "Iterator[Forecast | Unanswered]":
        from titer.forecasting.forecast import Unanswered

        for result in self.results:
            self.questions += 1
            self.unanswered += isinstance(result, Unanswered)
            yield result
