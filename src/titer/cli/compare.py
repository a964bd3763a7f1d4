"""The command ``titer compare``."""

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titer.cli.options import JsonOption, Split
from titer.cli.screen import note, say, say_json, say_table
from titer.errors import RunError

if TYPE_CHECKING:
    from titer.evaluation.bootstrap import PairedDifference
    from titer.evaluation.comparison import Measured

EXAMPLES = (
    "titer compare runs/first runs/titer",
    "titer compare runs/seeds --split valid",
    "titer compare --paper benchmarks/results",
)
ALWAYS_SHOWN = ("run", "model", "queries")


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run directories, folders of them, or result files of titer reproduce."),
    ],
    split: Annotated[Split, typer.Option(help="Split whose results are shown.")] = Split.test,
    paper: Annotated[
        bool, typer.Option("--paper", help="Print one row per model next to the published results of the paper.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Compare the results of several runs in one table.

    Runs that differ in their seeds only are one row, with mean and standard deviation. Every row has its dataset and
    its protocol: only rows with the same ones can be compared. For these, the last column is the difference of the MRR
    from that of the first row, with its interval.
    """
    measured = [one for path in runs for one in _results(path, split.value)]
    (_show_with_paper if paper else _show)(measured, json)


def _show(measured: "list[Measured]", json: bool) -> None:
    from titer.evaluation.comparison import cell
    from titer.evaluation.published import METRICS
    from titer.runs.compared import NEW_FACTS, differences_from_first, methods

    found = methods(measured)
    differences = differences_from_first(found)
    if json:
        say_json([method.to_dict(difference) for method, difference in zip(found, differences, strict=True)])
        return
    titles = {**METRICS, NEW_FACTS: "MRR new"}
    shown = [metric for metric in titles if metric in METRICS or any(method.values(metric) for method in found)]
    columns = {
        "run": [method.title for method in found],
        "model": [method.first.model for method in found],
        "settings": [", ".join(f"{key}={value}" for key, value in method.settings.items()) for method in found],
        "dataset": [f"{one.dataset['name']} {one.dataset['checksum'][:8]}" for one in (m.first for m in found)],
        "protocol": [_protocol(method.first.found["protocol"]) for method in found],
        "queries": [f"{method.first.found['queries']:,}" for method in found],
        **{titles[metric]: [cell(method.values(metric)) for method in found] for metric in shown},
        "difference of MRR, 95% interval": [_difference(one) for one in differences],
    }
    columns = {name: cells for name, cells in columns.items() if name in ALWAYS_SHOWN or any(cells)}
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    say_table(list(columns), rows, numbers_from=list(columns).index("queries"))
    say()
    if any(len(method.measured) > 1 for method in found):
        note("mean ± standard deviation over runs that differ in their seeds only")
    if any(differences):
        note("differences are from the first row with the same data and protocol, by a paired bootstrap over queries")
    if len({method.first.dataset["checksum"] for method in found}) > 1:
        note("note: the runs were evaluated on different data; their results cannot be compared")
    if len({_protocol(method.first.found["protocol"]) for method in found}) > 1:
        note("note: the runs were evaluated with different protocols; compare only rows with the same protocol")


def _difference(one: "PairedDifference | None") -> str:
    if one is None:
        return ""
    low, high = f"{100 * one.low:+.2f}", f"{100 * one.high:+.2f}"
    return f"{100 * one.difference:+.2f} ({low} to {high})"


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
    from titer.runs.compared import find_runs
    from titer.runs.run import Run
    from titer.training.layout import CONFIG

    if path.is_file() or (path.is_dir() and not (path / CONFIG).is_file() and any(path.glob("*.json"))):
        files = [path] if path.is_file() else sorted(path.glob("*.json"))
        found = [one for one in map(Measured.of_result, files) if one.found["split"] == split]
        if not found:
            raise RunError(f"{path} has no results on {split}")
        return found
    found = []
    for folder in find_runs(path):
        results = [result for result in Run(folder).evaluations if result["split"] == split]
        if not results:
            raise RunError(f"{folder} has no results on {split}; run: titer evaluate {folder} --split {split}")
        found += [Measured.of_run(str(folder), result) for result in results]
    return found


def _protocol(protocol: dict[str, Any]) -> str:
    return protocol["convention"] or "/".join(str(v) for k, v in protocol.items() if k != "convention")
