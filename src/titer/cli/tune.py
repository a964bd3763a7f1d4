"""The command ``titer tune``."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from titer.cli.interruption import INTERRUPTED
from titer.cli.options import OverwriteOption
from titer.cli.screen import note, say, say_table
from titer.counted import counted
from titer.errors import ConfigError, TiterError
from titer.training.config import DEFAULT_MODEL, Config

if TYPE_CHECKING:
    from titer.tuning.tune import SearchResult

EXAMPLES = (
    "titer tune small-world --model recurrency --trials 20",
    "titer tune data/events --model titer --timeout 2h --set training.epochs=10",
    "titer tune ICEWS14 --storage postgresql://USER@HOST/NAME --search model.dim=64,128,256",
)
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
DEFAULT_OUT = Path("best.toml")


def tune(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET", help="A dataset folder, small-world, or a downloaded benchmark such as ICEWS14."
        ),
    ],
    model: Annotated[
        str | None, typer.Option(help=f"Name of a model (default: {DEFAULT_MODEL}). titer models lists all of them.")
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="Trials in all, with those of other workers.")] = 50,
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="Begin no trial after this time: 90s, 30m, 2h or 1d.")
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Database of the search, sqlite:///FILE or postgresql://USER@HOST/NAME, which workers share (default: "
            "a file beside OUT).",
        ),
    ] = None,
    study: Annotated[
        str | None, typer.Option(help="Name of the search in its database (default: MODEL/DATASET).")
    ] = None,
    out: Annotated[Path, typer.Option(help="Configuration to write, for titer train --config.")] = DEFAULT_OUT,
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            metavar="CONFIG",
            help="TOML file or published configuration to start from (default: those of the model).",
        ),
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="TABLE.KEY=VALUE", help="Change a setting, and do not search it. Repeatable."),
    ] = None,
    search: Annotated[
        list[str] | None,
        typer.Option(metavar="TABLE.KEY=RANGE", help="Search a setting from LOW..HIGH or among A,B,C. Repeatable."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the search; different ones for workers.")] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Search for the settings with the highest MRR on the validation split.

    The test split is never read. The first trial has the settings to start from; trials that fall behind are stopped
    early. An interrupted search continues when the command is given again. Several of them, on one or many machines,
    share the work if they are given the same --storage.
    """
    from titer.api import configuration_file
    from titer.data.load import load_dataset
    from titer.training.loop import facts_to_learn
    from titer.tuning.pictures import draw_search
    from titer.tuning.space import search_space
    from titer.tuning.tune import tune as search_settings

    if out.suffix != ".toml":
        raise ConfigError(f"{out}: configurations are TOML files; choose a name that ends in .toml")
    place: str | Path = storage or out.with_suffix(".db")
    limit = _seconds(timeout) if timeout is not None else None
    start = Config.load(configuration_file(config) if config is not None else None, model, set)
    data = load_dataset(dataset)
    start = start.for_facts(len(facts_to_learn(data.train, start.training.recent_steps)))
    space = search_space(start, set or [], search or [])
    title = f"{start.model_name} on {data.name}"
    if out.exists() and not overwrite and not _is_result(out, title):
        raise TiterError(f"{out} already exists; choose another file or pass --overwrite")
    note(f"searching {counted(len(space), 'setting')} of {title}: {', '.join(space)}")

    def report(result: "SearchResult") -> None:
        done, best = counted(len(result.trials), "trial"), f"{100 * result.mrr:.2f} in trial {result.number}"
        note(f"{done}, best validation MRR {best}")
        _write(result, title, out)

    try:
        result = search_settings(
            data, start, space, place, study=study, trials=trials, timeout=limit, seed=seed, report=report
        )
    except KeyboardInterrupt:
        note("\ninterrupted; the same command continues the search")
        sys.exit(INTERRUPTED)
    _write(result, title, out)
    pictures = draw_search(result, title, out.with_suffix(".svg"))
    _show(result, start)
    say()
    say(f"{out}: validation MRR {100 * result.mrr:.2f}; pictures: {', '.join(map(str, pictures))}")


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip())
    if not found:
        raise ConfigError(f"--timeout must be a number with a unit, such as 90s, 30m, 2h or 1d, not {text!r}")
    return float(found[1]) * UNITS[found[2]]


def _brief(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _head(title: str) -> str:
    """Return the beginning of a result, by which the file is recognised."""
    return f"# Found by titer tune for {title}: validation MRR "


def _is_result(path: Path, title: str) -> bool:
    """Return whether a file is the result of a search for the same model and dataset."""
    return path.is_file() and path.read_bytes().startswith(_head(title).encode())


def _write(result: "SearchResult", title: str, out: Path) -> None:
    from titer.files import write_text
    from titer.toml import to_toml

    head = f"{_head(title)}{100 * result.mrr:.2f} in trial {result.number}.\n\n"
    write_text(out, head + to_toml(result.config.to_dict()))


def _show(result: "SearchResult", before: Config) -> None:
    """Print what was searched: the best values, and how much each setting mattered."""
    from titer.tuning.space import values_of

    old, new = (values_of(config, result.importance) for config in (before, result.config))
    shares = sorted(result.importance.items(), key=lambda item: -item[1])
    rows = [[key, _brief(old[key]), _brief(new[key]), f"{share:.1%}"] for key, share in shares]
    failed = sum(value is None for value in result.trials.values())
    say(f"{counted(len(result.trials), 'trial')}, {len(result.stopped)} of them stopped early, {failed} failed")
    if rows:
        say()
        say_table(["setting", "at the start", "best", "importance"], rows)
