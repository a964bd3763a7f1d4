"""The command ``titer export``."""

from pathlib import Path
from typing import Annotated

import typer

from titer.cli.interruption import note_state
from titer.cli.options import DeviceOption, OverwriteOption, RunArgument, StoreOption, ThreadsOption
from titer.cli.screen import note, say
from titer.counted import counted
from titer.errors import ConfigError, TiterError

EXAMPLES = (
    "titer export runs/first --format csv --out exports/first",
    "titer export runs/first --format neo4j --questions questions.csv --top 5 --out exports/graph",
    "titer export runs/first --format rdf --num-questions 0 --out exports/facts",
)


def export(
    run: RunArgument,
    format: Annotated[str, typer.Option("--format", metavar="FORMAT", help="pykeen, csv, parquet, neo4j or rdf.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to create.")],
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File of questions to forecast, as for titer forecast --file (default: frequent pairs of subject and "
            "relation).",
        ),
    ] = None,
    num_questions: Annotated[
        int, typer.Option(min=0, help="Without --questions: how many frequent pairs to ask about; 0 for facts only.")
    ] = 100,
    top: Annotated[int, typer.Option(min=1, help="Answers to each question.")] = 3,
    reasons: Annotated[int, typer.Option(min=0, help="Pieces of evidence for each answer.")] = 3,
    base: Annotated[
        str | None,
        typer.Option(metavar="IRI", help="With --format rdf: beginning of all IRIs (default: urn:titer:RUN:)."),
    ] = None,
    overwrite: OverwriteOption = False,
    store: StoreOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
) -> None:
    """Write facts, forecasts and evidence of a run for other tools.

    The folder also has provenance.json, which names the model, the data and the command that imports the facts again.
    Forecasts are about the time step after the last fact, unless the file of questions names other times.
    """
    from titer.export.content import export_content
    from titer.export.export import check_format, write_export
    from titer.forecasting.forecast import Unanswered
    from titer.runs.run import Run

    check_format(format)
    if base is not None and format != "rdf":
        raise ConfigError("--base is the beginning of IRIs, which only --format rdf has; leave it out")
    if out.exists() and not overwrite:
        raise TiterError(f"{out} already exists; choose another folder or pass --overwrite")
    note_state(run)
    content = export_content(
        Run(run),
        questions=questions,
        num_questions=num_questions,
        top=top,
        reasons=reasons,
        device=device,
        store=store,
        base=base,
    )
    command = write_export(content, format, out, overwrite=overwrite)
    unanswered = sum(isinstance(result, Unanswered) for result in content.forecasts)
    answered = len(content.forecasts) - unanswered
    say(f"{out}: {counted(content.facts.num_rows, 'fact')}, forecasts for {counted(answered, 'question')}")
    say(f"to import the facts again, in {out}: {command}")
    if unanswered:
        note(f"{unanswered:,} of {counted(len(content.forecasts), 'question')} could not be answered")
