"""The command ``titer evaluate``."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from titer.cli.interruption import note_state
from titer.cli.options import (
    DeviceOption,
    JsonOption,
    OverwriteOption,
    RunArgument,
    Split,
    ThreadsOption,
    WorkersOption,
    given_options,
)
from titer.cli.screen import note, say, say_json, say_table
from titer.errors import ConfigError
from titer.parallel.environment import is_first, num_processes
from titer.parallel.launch import launch
from titer.suggestions import hint

if TYPE_CHECKING:
    from titer.evaluation.evaluate import Evaluation
    from titer.evaluation.protocol import Protocol
    from titer.runs.baseline import Baseline
    from titer.runs.run import Run

EXAMPLES = (
    "titer evaluate runs/first",
    "titer evaluate runs/first --split valid --convention paper --json",
    "titer evaluate runs/titer --set model.inductive_mean=false",
    "titer evaluate runs/first --out ranks.parquet",
    "titer evaluate runs/smallpedia --protocol tgb",
)


TGB_OPTIONS = ("run", "protocol_name", "candidates", "batch_size", "device", "workers", "threads", "json")
"""The parameters that ``--protocol tgb`` leaves to the user."""
EVENTS_OPTIONS = ("run", "split", "events", "horizon", "until", "device", "workers", "threads", "json")
"""The parameters of an evaluation of event forecasts."""


def evaluate(
    context: typer.Context,
    run: RunArgument,
    split: Annotated[Split, typer.Option(help="Split whose facts are asked about.")] = Split.test,
    convention: Annotated[
        str | None, typer.Option(metavar="NAME", help="Named protocol: realistic (the default) or paper.")
    ] = None,
    protocol_name: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            metavar="NAME",
            help="tgb: evaluate validation and test split as the leaderboards of TGB 2.0. RUN may be a folder of runs "
            "with different seeds.",
        ),
    ] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="With --protocol tgb: folder of the *_ns.pkl files (default: the downloaded dataset)."
        ),
    ] = None,
    filter: Annotated[
        str | None,
        typer.Option(
            "--filter", metavar="FILTER", help="Other true answers to remove from a ranking: time-aware, static or raw."
        ),
    ] = None,
    ties: Annotated[
        str | None,
        typer.Option(metavar="RULE", help="Rank among equal scores: realistic, optimistic or pessimistic."),
    ] = None,
    unreachable: Annotated[
        str | None,
        typer.Option(metavar="RULE", help="Rank of answers that the model gives no score: tied or last."),
    ] = None,
    past: Annotated[
        str | None,
        typer.Option(metavar="HISTORY", help="Facts that may be used: rolling, frozen-at-train or frozen-at-valid."),
    ] = None,
    events: Annotated[
        bool, typer.Option("--events", help="Evaluate event forecasts: probabilities of all events of each step.")
    ] = False,
    horizon: Annotated[
        int, typer.Option(min=1, max=30, help="With --events: steps ahead, and length of the windows.")
    ] = 1,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="With --events: last step to evaluate, such as the last complete one (default: that of the split).",
        ),
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="model.KEY=VALUE",
            help="Change a setting that training does not depend on, such as model.beam_size=20. Repeatable.",
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Also write a result file into this folder, as titer reproduce does."),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Label of the result file (default: MODEL/DATASET).", show_default=False)
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Queries scored at once (default: depends on the device).")
    ] = None,
    baseline: Annotated[
        bool,
        typer.Option("--baseline/--no-baseline", help="Show what counting past facts alone reaches."),
    ] = True,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a row for each query: a .parquet or .csv file.")
    ] = None,
    overwrite: OverwriteOption = False,
    device: DeviceOption = "auto",
    workers: WorkersOption = 1,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Evaluate a run: MRR, Hits@k and calibration.

    Asks both queries of every fact in a split, (s, r, ?, t) and (?, r, o, t), and ranks the true answers, beside what
    counting past facts alone reaches. The result is also stored in metrics.json of the run.
    """
    from titer.data.export import check_table_file, write_table
    from titer.evaluation.evaluate import evaluate as evaluate_model
    from titer.evaluation.rank_table import rank_table
    from titer.parallel.processes import joined
    from titer.runs.baseline import baseline_of
    from titer.runs.run import Run
    from titer.training.device import choose_device

    if protocol_name is not None:
        from titer.cli.evaluate_tgb import evaluate_tgb_runs

        if protocol_name != "tgb":
            raise ConfigError(f"unknown --protocol {protocol_name!r}{hint(protocol_name, ['tgb'])}")
        if others := given_options(context, *TGB_OPTIONS):
            raise ConfigError(f"--protocol tgb fixes how runs are evaluated; leave out {', '.join(others)}")
        if workers > 1 and num_processes() == 1:
            sys.exit(launch(workers))
        evaluate_tgb_runs(run, candidates, device, batch_size, json=json)
        return
    if events:
        from titer.cli.events import evaluate_events

        if others := given_options(context, *EVENTS_OPTIONS):
            raise ConfigError(f"--events evaluates probabilities, not ranks; leave out {', '.join(others)}")
        if workers > 1:
            raise ConfigError("event forecasts are evaluated by one process; leave out --workers")
        if is_first():
            evaluate_events(run, split.value, horizon, until, device, json=json)
        return
    if not_events := [name for name in given_options(context) if name in ("--horizon", "--until")]:
        raise ConfigError(f"{not_events[0]} needs --events")
    if out is not None and is_first():
        check_table_file(out, overwrite=overwrite)
    protocol = _protocol(convention, filter=filter, ties=ties, unreachable=unreachable, past=past)
    opened, changes = Run(run), set or []
    if workers > 1 and num_processes() == 1:
        sys.exit(launch(workers))
    if is_first():
        note_state(run)
    with joined(choose_device(device)) as place:
        model = opened.load_model(str(place), changes)
        found = evaluate_model(model, opened.dataset, split.value, protocol, batch_size=batch_size)
        counted = baseline_of(opened, found) if baseline else None
    if not is_first():
        return
    recorded = opened.record(found, changes, baseline=counted.to_dict() if counted is not None else None)
    if out is not None:
        write_table(rank_table(found), out, overwrite=overwrite)
        note(f"{out}: ranks of {len(found.queries):,} queries")
    if results is not None:
        note(f"{_write_result(opened, found, changes, results, label)} is written")
    if json:
        say_json(recorded)
    else:
        _show(found, counted)


def _write_result(run: "Run", found: "Evaluation", changes: list[str], folder: Path, label: str | None) -> Path:
    from titer.runs.evaluation_settings import with_evaluation_settings
    from titer.runs.reproduce import result, write_result

    config = with_evaluation_settings(run.config, changes)
    label = label or f"{config.model_name}/{run.dataset.name.lower()}"
    # A path outside of the working folder would be of no use on another machine.
    place = run.path if not run.path.is_absolute() else Path("runs") / run.path.name
    words = ["titer", "evaluate", str(place)]
    words += [word for change in changes for word in ("--set", change)]
    words += ["--split", found.split] if found.split != "test" else []
    words += ["--label", label]
    training = run.summary
    command = " && ".join([*([training["command"]] if "command" in training else []), shlex.join(words)])
    return write_result(result(found, config, label=label, command=command, training=training), folder)


def _protocol(convention_name: str | None, **choices: str | None) -> "Protocol":
    from dataclasses import replace

    from titer.evaluation.protocol import Filter, Past, Ties, Unreachable, convention

    kinds = {"filter": Filter, "ties": Ties, "unreachable": Unreachable, "past": Past}
    changes = {}
    for name, value in choices.items():
        if value is None:
            continue
        try:
            changes[name] = kinds[name](value)
        except ValueError:
            known = [option.value for option in kinds[name]]
            raise ConfigError(f"unknown --{name} {value!r}{hint(value, known)}") from None
    return replace(convention(convention_name or "realistic"), **changes)


def _show(found: "Evaluation", counted: "Baseline | None") -> None:
    from titer.evaluation.metrics import METRIC_HEADERS, metric_cells
    from titer.evaluation.plain_words import in_plain_words

    say(f"{found.model} on {found.dataset.name}, {found.split} split: {len(found.queries):,} queries")
    say(f"protocol: {found.protocol}")
    say()
    rows = found.rows() if counted is None else counted.rows(found)
    say_table(["", *METRIC_HEADERS], [[label, *metric_cells(metrics)] for label, metrics in rows])
    say()
    say(in_plain_words(found.metrics().to_dict()) if counted is None else counted.words)
    say(f"calibration: {found.confidence}")
