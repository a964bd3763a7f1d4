"""The command ``titer retrain``."""

from pathlib import Path
from typing import Annotated

import typer

from titer.cli.interruption import continued_by
from titer.cli.options import OverwriteOption, RunArgument, StoreOption, ThreadsOption
from titer.cli.screen import note, say

EXAMPLES = ("titer retrain runs/first --out runs/second", "titer retrain runs/first --out runs/second --resume")


def retrain(
    run: RunArgument,
    out: Annotated[Path, typer.Option(help="Run directory to write. RUN itself does not change.")],
    store: StoreOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted training from its last checkpoint.")
    ] = False,
    overwrite: OverwriteOption = False,
    threads: ThreadsOption = None,
) -> None:
    """Train a run again with all its facts, including those that were added to it.

    The new run has the settings of RUN and the number of epochs that its validation chose, contains all entities of
    the added facts, and begins with an empty fact store.
    """
    from titer.runs.refit import epochs_words, refit
    from titer.runs.run import Run
    from titer.store.facts import FactStore
    from titer.store.inspection import holds_facts
    from titer.store.merged import merged_dataset

    opened = Run(run)
    dataset, added = opened.dataset, 0
    if store is not None or holds_facts(opened.store_path):
        with FactStore(store or opened.store_path, opened.dataset) as facts:
            dataset, added = merged_dataset(facts)
    counted = f"{len(dataset.facts):,} facts, {added:,} of them added"
    note(f"training {opened.config.model_name} on {counted}{epochs_words(opened)}")
    with continued_by(out, f"titer retrain {run} --out {out} --resume"):
        refit(opened, out, dataset, overwrite=overwrite, resume=resume)
    say(f"{out}: {opened.config.model_name} trained on all facts of {run}, {added:,} added ones included")
