"""The command ``titer forecast``."""

import json as json_text
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from titer.cli.interruption import note_state
from titer.cli.options import (
    ColumnOption,
    ConstantOption,
    DateFormatOption,
    DelimiterOption,
    DeviceOption,
    EncodingOption,
    JsonOption,
    NamesOption,
    OverwriteOption,
    RawCsvOption,
    RunArgument,
    StoreOption,
    ThreadsOption,
    table_options,
)
from titer.cli.screen import note, say, say_json
from titer.errors import TiterError

if TYPE_CHECKING:
    from titer.data.readers.options import TableOptions
    from titer.forecasting.forecast import Forecast, Unanswered
    from titer.forecasting.forecaster import Forecaster

FACT = '"SUBJECT | RELATION | OBJECT | DATE"'
EXAMPLES = (
    "titer forecast runs/first Caldera invite --explain",
    'titer forecast runs/first "?" invite "Nadia Torvald" --at 2023-07-01 --top 3',
    'titer forecast runs/first Caldera invite --without "Caldera | accuse | Drovia | 2023-06-28"',
    'titer forecast runs/first Caldera invite --without "Caldera | accuse | Drovia"',
    "titer forecast runs/first --file questions.csv --out answers.parquet",
    "titer forecast runs/first --file asked.csv --column subject=who --column relation=what --delimiter ';'",
)


def forecast(
    run: RunArgument,
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
    file: Annotated[
        Path | None,
        typer.Option(
            help="File of questions: CSV, JSON lines or Parquet with columns subject, relation, object, time."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File for the answers to --file, one row per answer: .csv, .jsonl or .parquet."),
    ] = None,
    column: ColumnOption = None,
    constant: ConstantOption = None,
    names: NamesOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    date_format: DateFormatOption = None,
    overwrite: OverwriteOption = False,
    raw_csv: RawCsvOption = False,
    store: StoreOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Answer a question: SUBJECT RELATION ? or ? RELATION OBJECT.

    Any unambiguous prefix of a name is accepted, in any case. Only facts before the time of the question are used, also
    for a question about the past. With --without and --with, the output shows how the ranks and probabilities change.

    In a file of questions, ? or an empty field marks what is asked for. Its columns may be named as in the files of the
    dataset, or given with --column. An invalid question does not stop the others: its error is in the column "error" of
    the answers.
    """
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.question import Question

    explained = reasons if explain else 0
    if file is not None:
        if subject is not None or at is not None or without or with_:
            raise TiterError("--file cannot be combined with SUBJECT, --at, --without or --with")
        options = table_options(column, names, delimiter, constant=constant, encoding=encoding, date_format=date_format)
        _answer_file(
            run, store, device, file, options, out, top, explained, overwrite=overwrite, raw_csv=raw_csv, json=json
        )
        return
    if subject is None or relation is None:
        raise TiterError("give SUBJECT RELATION, or ? RELATION OBJECT, or --file QUESTIONS")
    if out is not None:
        raise TiterError("--out needs --file; use --json for the answers to one question")
    question = Question(subject, relation, object, at)
    note_state(run)
    forecaster = Forecaster.load(run, device, store)
    note_no_evidence(forecaster, explained)
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
    options: "TableOptions",
    out: Path | None,
    top: int,
    explain: int,
    *,
    overwrite: bool,
    raw_csv: bool,
    json: bool,
) -> None:
    from titer.forecasting.answer_files import check_can_write, write_answers
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.question_files import count_rows, read_questions
    from titer.progress import track

    # Errors in the files are reported before the model is loaded.
    if out is not None:
        check_can_write(out, overwrite=overwrite)
    questions, total = read_questions(file, _mapping(run), options), count_rows(file)
    note_state(run)
    forecaster = Forecaster.load(run, device, store)
    note_no_evidence(forecaster, explain)
    results = forecaster.ask_many(questions, top=top, explain=explain)
    counted = _Counted(track(results, "answering", total))
    if out is not None:
        write_answers(counted, out, overwrite=overwrite, raw_csv=raw_csv)
        note(f"{out}: answers to {counted.questions:,} questions")
    else:
        for result in counted:
            say(json_text.dumps(result.to_dict(), ensure_ascii=False) if json else f"{result}\n")
    if counted.unanswered:
        where = 'see the column "error"' if out is not None else "see above"
        note(f"{counted.unanswered:,} of {counted.questions:,} questions could not be answered: {where}")


def _mapping(run: Path) -> "TableOptions | None":
    """Return how the dataset of a run was imported, without loading its model; ``None`` if that is not known."""
    from titer.data.dataset_folder import read_mapping
    from titer.training.layout import DATASET

    return read_mapping(run / DATASET)


def note_no_evidence(forecaster: "Forecaster", explain: int) -> None:
    """Say that a model has no evidence, if evidence is asked for."""
    if explain and not forecaster.model.explains():
        note(f"note: {forecaster.model.name} has no evidence to show")


class _Counted:
    """An iterator over results that counts them."""

    def __init__(self, results: "Iterator[Forecast | Unanswered]"):
        self.results = results
        self.questions = self.unanswered = 0

    def __iter__(self) -> "Iterator[Forecast | Unanswered]":
        from titer.forecasting.forecast import Unanswered

        for result in self.results:
            self.questions += 1
            self.unanswered += isinstance(result, Unanswered)
            yield result
