"""Kill a command right before each of its operations on files, and check that the next command works.

Run one command with ``python tests/campaigns/kill_points.py NAME``; ``--point N`` repeats one kill.
"""

import argparse
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from campaigns.common import Campaign, count_by
from campaigns.forked import command, in_fork, num_operations
from preloading import import_everything

FACTS = "subject,relation,object,time\n" + "".join(
    f"{s},visit,{o},2020-01-{day:02}\n" for day in range(1, 29) for s, o in (("Ada", "Ben"), ("Ben", "Cid"))
)
BAD_ROW = "Ada,visit,Ben,soon\n"


@dataclass(frozen=True)
class Case:
    """A command that is killed, and the commands that must work afterwards."""

    prepare: Callable[[Path], None]
    killed: Callable[[Path], list[str]]
    next_commands: tuple[Callable[[Path], list[str]], ...]
    check: Callable[[Path, bool], str]
    """Return what is wrong, after the kill (False) or after the next command (True)."""


def main() -> None:
    """Kill the commands before operations in a random order, and print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", choices=[*CASES, []], metavar="NAME", help=", ".join(CASES))
    parser.add_argument("--point", type=int, help="try only the kill before this operation")
    campaign = Campaign(__file__, __doc__, "kills", count=10**6, parser=parser)
    # Imported once and used in forks only: a process with threads must not be forked.
    import_everything()
    names, point = campaign.options.names or list(CASES), campaign.options.point
    kills: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="titer-kills-") as folder:
        totals = {name: prepare(name, Path(folder) / name) for name in names}
        chance = random.Random(campaign.options.seed)
        orders = [[(name, one) for one in chance.sample(range(1, total + 1), total)] for name, total in totals.items()]
        # Each command in turn, as long as it has operations left.
        every = [kill for kills in zip_longest(*orders) for kill in kills if kill is not None]
        chosen = [(name, point) for name in names] if point is not None else every
        for (name, one), _ in zip(chosen, campaign.numbers(), strict=False):
            kills[name] += 1
            for problem in _try_point(CASES[name], Path(folder) / name, one):
                campaign.report(f"python tests/campaigns/kill_points.py {name} --point {one}", problem)
    campaign.end(kills=count_by(kills), operations=count_by(totals))


def prepare(name: str, folder: Path) -> int:
    """Make what the command of a case begins with; return how many operations on files the command has."""
    (folder / "start").mkdir(parents=True)
    CASES[name].prepare(folder / "start")
    _copy(folder / "start", folder / "root")
    return num_operations(*CASES[name].killed(folder / "root"), root=folder / "root")


def _try_point(case: Case, folder: Path, point: int) -> list[str]:
    """Kill a command before an operation, run the next commands, and return what is wrong."""
    root = folder / "root"
    _copy(folder / "start", root)
    code, said = command(*case.killed(root), root=root, kill_before=point)
    if code != -9:
        return [f"ended with {code} instead of being killed: {said}"]
    problems = [_checked(case, root, False)]
    killed = root.with_name("killed")
    _copy(root, killed)
    for words in case.next_commands:
        _copy(killed, root)
        code, said = command(*words(root), root=root)
        if code != 0:
            problems.append(f"{' '.join(words(root))} ended with {code}: {said}")
            continue
        problems.append(_checked(case, root, True))
        left = [path.name for path in root.rglob(".*") if not path.name.endswith(".lock")]
        problems.append(f"left behind: {left}" if left else "")
    return [problem for problem in problems if problem]


def _checked(case: Case, root: Path, is_after: bool) -> str:
    output = root.with_name("checked")
    code = in_fork(lambda: print(case.check(root, is_after)), output)
    said = output.read_text(encoding="utf-8").strip()
    return said if code == 0 else f"the check ended with {code}: {said}"


def _copy(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


def train_words(model: str, *options: str) -> Callable[[Path], list[str]]:
    settings = {
        "recurrency": [],
        "path_mixture": [
            "training.epochs=2",
            "training.batch_size=4096",
            "model.dim=4",
            "model.relation_dim=4",
            "model.hidden_dim=4",
            "model.first_edges=4",
            "model.second_edges=4",
        ],
    }[model]
    changes = [word for setting in (*settings, "training.device=cpu") for word in ("--set", setting)]
    return lambda root: ["train", str(root / "data"), "--model", model, "--out", str(root / "run"), *changes, *options]


def _import(*options: str) -> Callable[[Path], list[str]]:
    words = ["--bad-rows", "skip", *options]
    return lambda root: ["data", "import", str(root / "facts.csv"), "--out", str(root / "data"), *words]


def _facts(root: Path) -> None:
    (root / "facts.csv").write_text(FACTS + BAD_ROW, encoding="utf-8")


def prepare_dataset(root: Path) -> None:
    _facts(root)
    assert command(*_import()(root), root=root)[0] == 0


def _run(model: str) -> Callable[[Path], None]:
    def prepare(root: Path) -> None:
        prepare_dataset(root)
        code, said = command(*train_words(model)(root), root=root)
        assert code == 0, said

    return prepare


def _check_run(must_exist: bool) -> Callable[[Path, bool], str]:
    def check(root: Path, is_after: bool) -> str:
        from titer.errors import TiterError
        from titer.runs.run import Run

        if not is_after and not must_exist:
            return ""
        try:
            run = Run(root / "run")
            run.load_model("cpu")
            return "" if run.is_finished and run.evaluations else "the run is not complete"
        except (TiterError, OSError) as error:
            return f"the run cannot be used: {error}"

    return check


def _check_dataset(must_exist: bool) -> Callable[[Path, bool], str]:
    def check(root: Path, is_after: bool) -> str:
        from titer.data.dataset_folder import open_dataset
        from titer.errors import TiterError

        if not is_after and not must_exist and not (root / "data").exists():
            return ""
        try:
            open_dataset(root / "data")
        except TiterError as error:
            return f"the dataset cannot be used: {error}"
        listed = (root / "data.rejected.csv").exists()
        return "" if listed else "the list of rejected rows is missing"

    return check


CASES = {
    "train": Case(
        prepare_dataset,
        train_words("recurrency"),
        (train_words("recurrency", "--resume"), train_words("recurrency", "--overwrite")),
        _check_run(False),
    ),
    "train-epochs": Case(
        prepare_dataset,
        train_words("path_mixture"),
        (train_words("path_mixture", "--resume"), train_words("path_mixture", "--overwrite")),
        _check_run(False),
    ),
    "train-overwrite": Case(
        _run("recurrency"),
        train_words("recurrency", "--overwrite"),
        (train_words("recurrency", "--resume"), train_words("recurrency", "--overwrite")),
        _check_run(True),
    ),
    "import": Case(_facts, _import(), (_import("--overwrite"),), _check_dataset(False)),
    "import-overwrite": Case(prepare_dataset, _import("--overwrite"), (_import("--overwrite"),), _check_dataset(True)),
}


if __name__ == "__main__":
    main()
