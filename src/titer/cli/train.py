"""The command ``titer train``."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from titer.cli.interruption import continued_by
from titer.cli.options import OverwriteOption, ThreadsOption, WorkersOption
from titer.cli.screen import note, say
from titer.counted import counted
from titer.errors import ConfigError, TiterError
from titer.parallel.environment import is_first, num_processes
from titer.parallel.launch import launch
from titer.training.config import DEFAULT_MODEL

if TYPE_CHECKING:
    from titer.data.dataset import Dataset
    from titer.runs.run import Run
    from titer.trackers.base import Tracker
    from titer.training.config import Config

MANY_UNSEEN = 0.5
"""Share of validation facts with an unseen entity that is worth a warning."""
EXAMPLES = (
    "titer train small-world --out runs/first",
    "titer train data/events --model titer --out runs/titer --epochs 6",
    "titer train data/events --out runs/seeds --seeds 0,1,2",
    "titer train data/events --out runs/all --refit",
    "titer train --out runs/titer --resume",
    "titer train ICEWS14 --config path_mixture/icews14 --out runs/icews14",
    "titer train ICEWS14 --out runs/parallel --workers 4",
)
SELECTION = "-selection"
"""How the folder of the run ends whose validation chose what a refit uses."""


def train(
    out: Annotated[Path, typer.Option(help="Run directory to write; with --seeds, a folder of run directories.")],
    dataset: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATASET]",
            help="A dataset folder, small-world, or a downloaded benchmark such as ICEWS14. With --resume, that of the "
            "run is the default.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help=f"Name of a model (default: {DEFAULT_MODEL}). titer models lists all of them."),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            metavar="CONFIG",
            help="TOML file with settings, or a published configuration such as titer/icews14 "
            "(default: the defaults of the model).",
        ),
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="TABLE.KEY=VALUE",
            help="Change one setting, such as model.dim=64. Repeatable. titer settings lists all of them.",
        ),
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=0, help="Passes over the training facts.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of everything random (default: 0).")] = None,
    seeds: Annotated[
        str | None,
        typer.Option("--seeds", metavar="SEEDS", help="Train a run for each of several seeds, such as 0,1,2."),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda, cuda:N, or auto, which uses a GPU if there is one.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted training from its last checkpoint.")
    ] = False,
    refit: Annotated[
        bool,
        typer.Option(
            "--refit",
            help="Then train on all facts, with the epochs that validation chose. OUT-selection is the validated run.",
        ),
    ] = False,
    events: Annotated[
        bool, typer.Option("--events", help="Train the event model too, instead of when it is first used.")
    ] = False,
    track: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TRACKER", help="Also send the course of training to mlflow, wandb or another tracker. Repeatable."
        ),
    ] = None,
    workers: WorkersOption = 1,
    overwrite: OverwriteOption = False,
    threads: ThreadsOption = None,
) -> None:
    """Train a model on a dataset and write a run directory.

    Without --model and --config, the recurrency baseline is measured too, and the output says if it is as good. With
    --workers, or started by torchrun, several processes train one model: they divide every batch among them.
    """
    from titer.runs.overwriting import check_can_create

    shortcuts = {"epochs": epochs, "device": device}
    changes = [*(set or []), *(f"training.{key}={value}" for key, value in shortcuts.items() if value is not None)]
    if overwrite and resume:
        raise TiterError("a run can be overwritten or resumed, not both")
    if seeds is not None and seed is not None:
        raise TiterError("give --seed or --seeds, not both")
    places: dict[Path, int | None] = {out: seed}
    if seeds is not None:
        places = {out / f"seed{one}": one for one in _numbers(seeds)}
    selections = {place: place.with_name(place.name + SELECTION) if refit else place for place in places}
    settings = {
        place: _settings(selections[place], config, model, changes, one, resume=resume) for place, one in places.items()
    }
    if is_first() and not resume:
        for place in dict.fromkeys((*selections.values(), *places)):
            check_can_create(place, overwrite=overwrite)
    if workers > 1 and num_processes() == 1:
        sys.exit(launch(workers))
    options = _Options(overwrite, resume, tuple(track or ()), workers)
    runs = []
    for place, first in selections.items():
        data = _data(dataset, first, resume=resume)
        run = _train(data, settings[place], first, options, baseline=model is None and config is None)
        runs.append(_refit(run, place, options) if refit else run)
    if not is_first():
        return
    if events:
        from titer.runs.events import event_model

        for run in runs:
            event_model(run, run.load_model(run.config.training.device))
    if len(runs) > 1 and not refit:
        _report_seeds(out, runs)


@dataclass(frozen=True)
class _Options:
    """Options of every training of a command."""

    overwrite: bool
    resume: bool
    track: tuple[str, ...]
    workers: int

    @property
    def trackers(self) -> "dict[str, Tracker] | None":
        """New trackers; only the first process has some."""
        from titer.trackers.registry import make_trackers

        return make_trackers(self.track) if is_first() else None

    def command(self, out: Path) -> str:
        """Return the command that continues a training."""
        workers = f" --workers {self.workers}" if self.workers > 1 else ""
        return f"titer train --out {out} --resume{workers}"


def _numbers(text: str) -> list[int]:
    try:
        return list(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        raise ConfigError(f"--seeds must be whole numbers separated by commas, such as 0,1,2, not {text!r}") from None


def _settings(
    out: Path, config: str | None, model: str | None, overrides: list[str], seed: int | None, *, resume: bool
) -> "Config":
    """Return the settings of a training; if none are given, those of the run to resume."""
    from titer.api import configuration_file
    from titer.training.config import Config

    started = _started(out) if resume and config is None and model is None and not overrides else None
    if started is not None:
        settings = started.config
    else:
        settings = Config.load(configuration_file(config) if config is not None else None, model, overrides)
    return settings if seed is None else settings.with_seed(seed)


def _data(dataset: str | None, out: Path, *, resume: bool) -> "Dataset":
    """Return the dataset; if none is given, that of the run to resume."""
    from titer.data.load import load_dataset

    if dataset is not None:
        return load_dataset(dataset)
    started = _started(out) if resume else None
    if started is None:
        raise TiterError("give a DATASET to train on: a dataset folder, small-world, or a benchmark")
    return started.dataset


def _started(out: Path) -> "Run | None":
    """Return the run to resume, if there is one."""
    from titer.runs.place import place_to_resume
    from titer.runs.run import Run
    from titer.training.layout import CONFIG

    place = place_to_resume(out)
    return Run(place) if (place / CONFIG).is_file() else None


def _train(data: "Dataset", settings: "Config", out: Path, options: _Options, *, baseline: bool) -> "Run":
    from titer.data.summary import unseen_share
    from titer.runs.horizons import measure_horizons
    from titer.runs.train import train as train_model

    if is_first():
        note(f"training {settings.model_name} on {data.name} ({counted(len(data.train), 'fact')})")
        if (share := unseen_share(data, "valid")) > MANY_UNSEEN:
            note(
                f"warning: {share:.0%} of the validation facts have an entity that no training fact has; models learn "
                "little about them. Facts about what occurs again, such as countries or kinds, can be forecast better"
            )
    with continued_by(out, options.command(out)):
        run = train_model(
            data,
            settings,
            out,
            overwrite=options.overwrite,
            resume=options.resume,
            baseline=baseline,
            trackers=options.trackers,
        )
        if is_first() and "horizons" not in run.summary:
            measure_horizons(run, settings.training.device, data)
    if is_first():
        _report(run)
    return run


def _report(run: "Run") -> None:
    """Print the result of a validation, and what counting past facts reaches if that was measured."""
    measured = [found for found in run.evaluations if found["split"] == "valid"]
    found = measured[-1] if measured else {}
    result = f"validation MRR {100 * found['metrics']['mrr']:.2f}" if found else "no validation split"
    say(f"{run.path}: {run.config.model_name} trained on {run.dataset.name}, {result}")
    if (counted := found.get("baseline")) is None:
        return
    name, difference = counted["model"], counted["difference"]
    say(f"{name}, which only counts past facts, reaches {100 * counted['metrics']['mrr']:.2f} on the same queries")
    if counted["is_as_good"]:
        gain, *interval = (f"{100 * difference[key]:+.2f}" for key in ("difference", "low", "high"))
        say(
            f"counting past facts is as good here, and faster: the difference is {gain}, with a 95% interval from "
            f"{' to '.join(interval)}. To use it: titer train DATASET --model {name}"
        )


def _refit(run: "Run", out: Path, options: _Options) -> "Run":
    from titer.runs.refit import epochs_words, refit

    if is_first():
        note(f"training {run.config.model_name} on all {len(run.dataset.facts):,} facts{epochs_words(run)}")
    with continued_by(out, options.command(out)):
        new = refit(run, out, overwrite=options.overwrite, resume=options.resume, trackers=options.trackers)
    if is_first():
        say(f"{out}: trained on all {len(run.dataset.facts):,} facts, with what validation chose in {run.path}")
    return new


def _report_seeds(out: Path, runs: "list[Run]") -> None:
    from titer.evaluation.comparison import cell

    values = [100 * found["metrics"]["mrr"] for run in runs for found in run.evaluations if found["split"] == "valid"]
    if values:
        say(f"{out}: validation MRR {cell(values)} over {len(runs)} seeds")
    say(f"titer compare {out} --split valid compares these runs; titer evaluate measures them on the test split")
