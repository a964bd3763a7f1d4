"""The command ``titer compare``."""

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titer.cli.options import JsonOption, Split
from titer.cli.screen import note, say, say_json, say_table
from titer.errors import RunError

if TYPE_CHECKING:
    from titer.evaluation.comparison import Measured

EXAMPLES = ("titer compare runs/first runs/titer", "titer compare --paper benchmarks/results")


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run directories, result files of titer reproduce, or folders of them."),
    ],
    split: Annotated[Split, typer.Option(help="Split whose results are shown.")] = Split.test,
    paper: Annotated[
        bool, typer.Option("--paper", help="Print one row per model next to the published results of the paper.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Compare the results of several runs in one table.

    Every row has its dataset and its protocol: only rows with the same ones can be compared.
    """
    measured = [one for path in runs for one in _results(path, split.value)]
    (_show_with_paper if paper else _show)(measured, json)


def _show(measured: "list[Measured]", json: bool) -> None:
    from titer.evaluation.published import METRICS

    if json:
        say_json([{"run": one.source, **_without_breakdown(one.found)} for one in measured])
        return
    say_table(
        ["run", "model", "dataset", "protocol", "queries", *METRICS.values()],
        [
            [
                one.title,
                one.model,
                f"{one.dataset['name']} {one.dataset['checksum'][:8]}",
                _protocol(one.found["protocol"]),
                f"{one.found['queries']:,}",
                *(f"{100 * one.found['metrics'][key]:.2f}" for key in METRICS),
            ]
            for one in measured
        ],
        numbers_from=4,
    )
    if len({one.dataset["checksum"] for one in measured}) > 1:
        say()
        note("note: the runs were evaluated on different data; their results cannot be compared")
    if len({_protocol(one.found["protocol"]) for one in measured}) > 1:
        note("note: the runs were evaluated with different protocols; compare only rows with the same protocol")


def _show_with_paper(measured: "list[Measured]", json: bool) -> None:
    from titer.evaluation.comparison import CONVENTION, main_table, standings
    from titer.evaluation.published import METRICS

    found = standings(measured)
    if not found:
        raise RunError(f"none of these was evaluated with the convention {CONVENTION!r}")
    if json:
        say_json(
            [
                {
                    "dataset": one.dataset,
                    "model": one.model,
                    "runs": [run.source for run in one.measured],
                    "ours": {metric: one.values(metric) for metric in METRICS},
                    "paper": {metric: one.published(metric) for metric in METRICS},
                }
                for one in found
            ]
        )
        return
    say(f"convention {CONVENTION!r}, in percent; mean ± standard deviation over several runs")
    for (dataset, checksum), group in groupby(found, key=lambda one: (one.dataset, one.checksum)):
        say()
        say(f"{dataset} {checksum[:8]}")
        say_table(*main_table(list(group)))
    for one in found:
        if not one.is_one_setting:
            note(f"note: the runs of {one.model} on {one.dataset} differ in more than their seeds")
    if left_out := sorted({one.variant for one in measured if one.variant}):
        note(f"note: results with settings other than the published ones are omitted: {', '.join(left_out)}")


def _results(path: Path, split: str) -> "list[Measured]":
    from titer.evaluation.comparison import Measured
    from titer.runs.run import Run
    from titer.training.layout import CONFIG

    if path.is_file() or (path.is_dir() and not (path / CONFIG).is_file() and any(path.glob("*.json"))):
        files = [path] if path.is_file() else sorted(path.glob("*.json"))
        found = [one for one in map(Measured.of_result, files) if one.found["split"] == split]
        if not found:
            raise RunError(f"{path} has no results on {split}")
        return found
    run = Run(path)
    found = [Measured.of_run(str(path), result) for result in run.evaluations if result["split"] == split]
    if not found:
        raise RunError(f"{path} has no results on {split}; run: titer evaluate {path} --split {split}")
    return found


def _protocol(protocol: dict[str, Any]) -> str:
    return protocol["convention"] or "/".join(str(v) for k, v in protocol.items() if k != "convention")


def _without_breakdown(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key != "breakdown"}
