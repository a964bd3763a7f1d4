"""The commands ``titer data``: list, download, import and inspect datasets."""

import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from titer.cli.import_data import EXAMPLES as IMPORT_EXAMPLES
from titer.cli.import_data import import_data
from titer.cli.options import JsonOption, OverwriteOption, examples
from titer.cli.screen import note, say, say_json, say_table, spark
from titer.counted import counted
from titer.errors import DataError
from titer.suggestions import hint

if TYPE_CHECKING:
    from titer.data.dataset import Dataset
    from titer.data.summary import Summary

app = typer.Typer(help="Import, download and inspect datasets.", no_args_is_help=True)
app.command("import", epilog=examples(*IMPORT_EXAMPLES))(import_data)

CHART_WIDTH = 72


@app.command("list")
def list_datasets() -> None:
    """List the datasets that have a name."""
    from titer.data.benchmarks import BENCHMARKS
    from titer.data.download import downloaded
    from titer.data.small_world import NAME
    from titer.data.tgb.catalogue import TGB_BENCHMARKS
    from titer.data.tgb.download import downloaded_tgb

    rows = [[NAME, "included in titer", "synthetic, with planted causes"]]
    for benchmark in BENCHMARKS.values():
        here = downloaded(benchmark)
        sizes = " / ".join(f"{count:,}" for count in benchmark.facts)
        where = str(here) if here else f"titer data download {benchmark.name}"
        rows.append([benchmark.name, where, f"{sizes} facts, time unit: {benchmark.axis.unit}"])
    for tgb in TGB_BENCHMARKS.values():
        where = str(downloaded_tgb(tgb) or f"titer data download {tgb.name}")
        rows.append([tgb.name, where, f"{tgb.facts:,} facts of TGB 2.0" + (", and static facts" * tgb.has_static)])
    say_table(["name", "location", "content"], rows, numbers_from=3)


@app.command("download", epilog=examples("titer data download ICEWS14", "titer data download YAGO --from ~/benchmarks"))
def download(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="ICEWS14, ICEWS18, WIKI, YAGO, ICEWS14-RE-GCN, or of TGB 2.0: tkgl-smallpedia, tkgl-polecat, "
            "tkgl-icews, tkgl-wikidata.",
        ),
    ],
    mirror: Annotated[
        str | None, typer.Option(metavar="URL", help="Download the files of the benchmark from this URL.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Copy the files from a local folder, or from its subfolder with the name of the benchmark."
        ),
    ] = None,
    entity_names: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="For TGB: a CSV or TSV file with identifiers of entities and names to show."),
    ] = None,
    relation_names: Annotated[
        Path | None, typer.Option(metavar="FILE", help="For TGB: the same for relations.")
    ] = None,
) -> None:
    """Download a benchmark into the cache.

    Every file is checked against its SHA-256; files that are already in the cache are kept. TGB publishes no checksums:
    its files are compared with those of the first download. The environment variable TITER_CACHE sets the folder of the
    cache.
    """
    from titer.data import download as downloads
    from titer.data.benchmarks import BENCHMARKS, benchmark_named
    from titer.data.tgb.catalogue import TGB_BENCHMARKS
    from titer.data.tgb.download import NameFiles, download_tgb

    if tgb := TGB_BENCHMARKS.get(name.lower()):
        names = NameFiles(entity_names, relation_names) if entity_names or relation_names else None
        say(f"{tgb.name} is in {download_tgb(tgb, mirror=mirror, folder=folder, names=names)}")
        return
    if entity_names or relation_names:
        raise DataError("--entity-names and --relation-names are for datasets of TGB only")
    benchmark = benchmark_named(name)
    if benchmark is None:
        raise DataError(f"unknown benchmark {name!r}{hint(name, [*BENCHMARKS, *TGB_BENCHMARKS])}")
    say(f"{benchmark.name} is in {downloads.download(benchmark, mirror=mirror, folder=folder)}")


@app.command("info", epilog=examples("titer data info small-world", "titer data info data/events --json"))
def info(
    path: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="A dataset folder, a run directory, small-world, or a downloaded benchmark such as ICEWS14.",
        ),
    ],
    json: JsonOption = False,
) -> None:
    """Show the content of a dataset: sizes, dates, most frequent names, unseen entities."""
    from titer.data.load import load_dataset
    from titer.data.summary import Summary
    from titer.store.inspection import holds_facts
    from titer.training.layout import STORE

    summary = Summary.of(load_dataset(path))
    if json:
        say_json(summary.to_dict())
        return
    _show(summary)
    if holds_facts(Path(path) / STORE):
        note(f"facts that were added to {path} are not counted: titer facts list {path}")


@app.command(
    "export",
    epilog=examples(
        "titer data export small-world --out facts.csv",
        "titer data export runs/first --split test --questions --out questions.csv",
    ),
)
def export(
    path: Annotated[
        str, typer.Argument(metavar="DATASET", help="A dataset folder, a run directory, small-world, or a benchmark.")
    ],
    out: Annotated[Path, typer.Option(help="File to write: .csv or .parquet.")],
    split: Annotated[
        list[str] | None, typer.Option(help="Split to export: train, valid or test (default: all). Repeatable.")
    ] = None,
    questions: Annotated[
        bool,
        typer.Option("--questions", help="Write both questions of every fact, as titer forecast --file reads them."),
    ] = False,
    overwrite: OverwriteOption = False,
) -> None:
    """Write the facts of a dataset to a file, in names and dates."""
    from titer.data.export import check_table_file, fact_table, question_table, write_table
    from titer.data.load import load_dataset

    check_table_file(out, overwrite=overwrite)
    dataset = load_dataset(path)
    splits = split or [name for name, facts in dataset.splits.items() if len(facts)]
    table = (question_table if questions else fact_table)(dataset, splits)
    write_table(table, out, overwrite=overwrite)
    say(f"{out}: {counted(len(table), 'question' if questions else 'fact')} of {dataset.name}")


def _show(summary: "Summary") -> None:
    dataset: Dataset = summary.dataset
    numbers = summary.to_dict()
    say(f"{dataset.name}: {numbers['first']} to {numbers['last']}, time unit: {dataset.axis.unit}")
    say(f"{dataset.vocabulary.sizes}, {counted(len(summary.steps), 'time step')} with facts")
    if dataset.mapping is not None and (words := dataset.mapping.words()):
        say(f"imported with {shlex.join(words)}")
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
            say(f"note: {pair.replace('+', ' and ')} share {counted(count, 'time step')}; the splits overlap in time")
    say()
    unseen = summary.unseen
    entities = counted(unseen.entities, "entity", "entities")
    say(f"unseen in training: {entities} of the test split, in {unseen.share:.2%} of its facts")
    for title, rows in (
        ("entities", summary.busiest_entities(8)),
        ("relations", summary.busiest_relations(8)),
    ):
        say()
        say_table([f"most frequent {title}", "facts"], [[name, f"{count:,}"] for name, count in rows])
    say()
    _show_chart(summary)


def _show_chart(summary: "Summary") -> None:
    import numpy as np

    width = max(min(CHART_WIDTH, shutil.get_terminal_size().columns - 2), 10)
    first, last = int(summary.steps[0]), int(summary.steps[-1])
    # Every bar covers the same whole number of time steps; otherwise the chart would show a pattern of its own.
    steps_per_bar = -(-(last - first + 1) // width)
    bins = -(-(last - first + 1) // steps_per_bar)
    counts = np.bincount((summary.steps - first) // steps_per_bar, weights=summary.facts_per_step, minlength=bins)
    each = summary.dataset.axis.duration(steps_per_bar)
    say(f"facts over time (one bar is {each}, the highest is {counted(int(counts.max()), 'fact')})")
    say(spark(counts.tolist()))
    labels = [summary.dataset.axis.label(step) for step in (first, last)]
    say(f"{labels[0]} " + labels[1].rjust(bins - len(labels[0]) - 1))
