"""``titer data``: list, download, import and look at datasets."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from titer.cli.import_data import import_data
from titer.cli.options import JsonOption
from titer.cli.screen import say, say_json, say_table, spark
from titer.errors import DataError

if TYPE_CHECKING:
    from titer.data.dataset import Dataset
    from titer.data.summary import Summary

app = typer.Typer(help="Get datasets and look at them.", no_args_is_help=True)
app.command("import")(import_data)

CHART_WIDTH = 72


@app.command("list")
def list_datasets() -> None:
    """List the datasets that titer knows by name."""
    from titer.data.benchmarks import BENCHMARKS
    from titer.data.download import downloaded
    from titer.data.small_world import NAME

    rows = [[NAME, "ships with titer", "invented, with planted causes"]]
    for benchmark in BENCHMARKS.values():
        here = downloaded(benchmark)
        sizes = " / ".join(f"{count:,}" for count in benchmark.facts)
        where = str(here) if here else f"titer data download {benchmark.name}"
        rows.append([benchmark.name, where, f"{sizes} facts by the {benchmark.axis.unit}"])
    say_table(["name", "where", "what"], rows, numbers_from=3)


@app.command("download")
def download(
    name: Annotated[str, typer.Argument(help="ICEWS14, ICEWS18, WIKI or YAGO.")],
    mirror: Annotated[str | None, typer.Option(help="A URL under which the benchmark's files lie.")] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--from", help="A local folder that holds the files, or a folder of the same name with them."),
    ] = None,
) -> None:
    """Download a benchmark, check every file against its SHA-256, and keep it in the cache.

    Files that are already in the cache are kept. TITER_CACHE sets another folder for the cache.
    """
    from titer.data import download as downloads
    from titer.data.benchmarks import BENCHMARKS, benchmark_named

    benchmark = benchmark_named(name)
    if benchmark is None:
        raise DataError(f"unknown benchmark {name!r}; choose from {', '.join(BENCHMARKS)}")
    say(f"{benchmark.name} is in {downloads.download(benchmark, mirror=mirror, folder=folder)}")


@app.command("info")
def info(
    path: Annotated[str, typer.Argument(help="A folder, a stored dataset, a run, a benchmark's name, or small-world.")],
    json: JsonOption = False,
) -> None:
    """Show what is in a dataset: sizes, dates, busiest names, and what the test split has that training has not."""
    from titer.data.load import load_dataset
    from titer.data.summary import Summary

    summary = Summary.of(load_dataset(path))
    if json:
        say_json(summary.to_dict())
    else:
        _show(summary)


def _show(summary: "Summary") -> None:
    dataset: Dataset = summary.dataset
    numbers = summary.to_dict()
    say(f"{dataset.name}: {numbers['first']} to {numbers['last']}, by the {dataset.axis.unit}")
    say(f"{dataset.vocabulary.num_entities:,} entities, {dataset.vocabulary.num_relations:,} relations, "
        f"{len(summary.steps):,} distinct times")  # fmt: skip
    say()
    say_table(
        ["split", "facts", "duplicates", "from", "to"],
        [
            [
                name,
                f"{len(facts):,}",
                f"{summary.duplicates[name]:,}",
                dataset.axis.label(int(facts.time.min())) if len(facts) else "-",
                dataset.axis.label(int(facts.time.max())) if len(facts) else "-",
            ]
            for name, facts in dataset.splits.items()
        ],
    )
    for pair, count in summary.shared_steps.items():
        if count:
            say(f"note: {pair.replace('+', ' and ')} share {count} step(s); this split is not strictly chronological")
    say()
    unseen = summary.unseen
    say(f"{unseen.entities:,} entities of the test split are never seen in training; "
        f"they are in {unseen.share:.2%} of its facts")  # fmt: skip
    for title, rows in (
        ("entities", summary.busiest_entities(8)),
        ("relations", summary.busiest_relations(8)),
    ):
        say()
        say_table([f"busiest {title}", "facts"], [[name, f"{count:,}"] for name, count in rows])
    say()
    _show_chart(summary)


def _show_chart(summary: "Summary") -> None:
    import numpy as np

    width = max(min(CHART_WIDTH, shutil.get_terminal_size().columns - 2), 10)
    first, last = int(summary.steps[0]), int(summary.steps[-1])
    # A whole number of steps a bar: otherwise longer and shorter bars would draw a pattern of their own.
    steps_per_bar = -(-(last - first + 1) // width)
    bins = -(-(last - first + 1) // steps_per_bar)
    counts = np.bincount((summary.steps - first) // steps_per_bar, weights=summary.facts_per_step, minlength=bins)
    each = summary.dataset.axis.duration(steps_per_bar)
    say(f"facts over time (one bar is {each}, the highest has {int(counts.max()):,})")
    say(spark(counts.tolist()))
    labels = [summary.dataset.axis.label(step) for step in (first, last)]
    say(f"{labels[0]} " + labels[1].rjust(bins - len(labels[0]) - 1))
