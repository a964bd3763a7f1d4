"""Print the commands behind TITer's results: three recipes, the walk between them, and the paper's ablations.

    python benchmarks/recipes.py                       # all commands, the most important first
    python benchmarks/recipes.py --data gpu-data       # with datasets from gpu-data/ICEWS14 and so on
    python benchmarks/recipes.py --missing             # those without a result file

Every command trains on one seed and writes one result file. The comment after it is its cost: the number of training
queries of an epoch times the number of epochs.
"""

import argparse
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
QUERIES = {"icews14": 2 * 63685, "icews18": 2 * 373018, "wiki": 2 * 539286, "yago": 2 * 161540}
"""Training queries of an epoch: every fact in both directions."""
EPOCHS = {
    "paper": {"icews14": 400, "icews18": 68, "wiki": 47, "yago": 158},
    "released": {"icews14": 400, "icews18": 68, "wiki": 47, "yago": 158},
    "tuned": {"icews14": 100, "icews18": 65, "wiki": 15, "yago": 40},
}
SEEDS = {"icews14": 5, "icews18": 3, "wiki": 3, "yago": 5}

# The walk on ICEWS14: each entry changes one thing in addition to all entries before it.
WALK_START = ("epochs-100", ("training.epochs=100",))
TO_RELEASED = (
    ("strictly-back", ("model.strictly_back=true",)),
    ("must-leave", ("model.may_stay_at_first=false",)),
    ("loop-counts", ("model.loop_counts_as_edge=true",)),
    ("start-relation", ("model.start_relation=self_loop",)),
    ("state-never-frozen", ("model.freeze_state_on_self_loop=false",)),
    ("normal-weights", ("model.initialisation=normal",)),
    ("hours", ("model.time_scale=24.0",)),
    ("time-scales", ("model.time_initialisation=scales",)),
    ("entropy-per-batch", ("model.entropy_decays_per=batch",)),
    ("weight-decay", ("training.weight_decay=1e-5",)),
    ("all-expansions", ("model.final_beam=false",)),
)
TO_TUNED = (
    ("loop-added", ("model.loop_counts_as_edge=false",)),
    ("own-start-relation", ("model.start_relation=own",)),
    ("mean-reward", ("model.sampled_reward=false",)),
    ("best-epoch", ("training.keep=best", "training.validate_every=10")),
    ("falling-rate", ("training.learning_rate_schedule=linear",)),
    ("more-weight-decay", ("training.weight_decay=3e-5",)),
    ("slow-entropy", ("model.entropy_weight=0.02", "model.entropy_decay=0.97", "model.entropy_decays_per=epoch")),
    ("dropout", ("model.dropout=0.3",)),
)
WALK = (WALK_START, *TO_RELEASED, *TO_TUNED)

ABLATIONS = {
    "no-shaping": ("model.shaped_reward=false",),
    "no-weights": ("model.weighted_scoring=false",),
    "neither": ("model.shaped_reward=false", "model.weighted_scoring=false"),
}
"""Table 5 of the paper."""


@dataclass(frozen=True)
class Training:
    """One training: a published configuration, changes of it, and a seed."""

    dataset: str
    recipe: str
    seed: int
    suffix: str = ""
    changes: tuple[str, ...] = ()

    @property
    def configuration(self) -> str:
        """The name of the published configuration."""
        return f"titer/{self.dataset}" + (f"-{self.recipe}" if self.recipe != "tuned" else "")

    @property
    def label(self) -> str:
        """The label of the result."""
        start = f"titer/{self.dataset}" if self.suffix.startswith("-walk-") else self.configuration
        return start + self.suffix

    @property
    def cost(self) -> tuple[int, int]:
        """The training queries of an epoch, and the number of epochs."""
        epochs = [int(change.partition("=")[2]) for change in self.changes if change.startswith("training.epochs=")]
        return QUERIES[self.dataset], (epochs or [EPOCHS[self.recipe][self.dataset]])[-1]

    @property
    def has_result(self) -> bool:
        """Whether the result file exists."""
        return (RESULTS / f"{self.label.replace('/', '-')}-seed{self.seed}.json").is_file()

    def command(self, data: str | None) -> str:
        """Return the command, with datasets from a folder if one is given."""
        words = ["reproduce", self.configuration, "--seed", str(self.seed)]
        words += [word for change in self.changes for word in ("--set", change)]
        words += ["--label", self.label] if self.label != self.configuration else []
        words += ["--data", f"{data}/{self.dataset.upper()}"] if data else []
        return shlex.join(words)


def walk(seed: int) -> Iterator[Training]:
    """Return the walk from ``paper`` by way of ``released`` to ``tuned``, one change after the other, on ICEWS14.

    The walk begins after ``paper`` and ends before ``tuned``, which have results of their own.
    """
    changes: tuple[str, ...] = ()
    for number, (name, more) in enumerate(WALK[:-1], start=1):
        changes = (*changes, *more)
        kept = dict(change.split("=", 1) for change in changes)  # the last value of a setting counts
        changes = tuple(f"{key}={value}" for key, value in kept.items())
        yield Training("icews14", "paper", seed, f"-walk-{number:02}-{name}", changes)


def trainings() -> Iterator[Training]:
    """Return all trainings, the most important first."""
    for seed in range(3):
        for dataset in QUERIES:
            for recipe in ("released", "paper", "tuned"):
                yield Training(dataset, recipe, seed)
    for seed in range(3):
        for name, changes in ABLATIONS.items():
            yield Training("icews18", "released", seed, f"-{name}", changes)
    for seed in range(3):
        yield from walk(seed)
        # The text alone, without the standardisation in the code of MINERVA.
        alone = (*WALK_START[1], "model.baseline=moving_average")
        yield Training("icews14", "paper", seed, "-moving-average", alone)
    for seed in range(3, 5):
        for dataset in ("icews14", "yago"):
            for recipe in ("released", "paper", "tuned"):
                yield Training(dataset, recipe, seed)
    for seed in range(3):
        # As many epochs as the released code trains for by default; the recipe on ICEWS18 has fewer.
        yield Training("icews18", "released", seed, "-400-epochs", ("training.epochs=400",))


def main() -> None:
    """Print the commands."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", help="folder with the datasets, each under its name")
    parser.add_argument("--program", default="titer", help="how to call titer")
    parser.add_argument("--options", default="", help="options to add to every command")
    parser.add_argument("--missing", action="store_true", help="only trainings without a result file")
    arguments = parser.parse_args()
    for training in trainings():
        if arguments.missing and training.has_result:
            continue
        queries, epochs = training.cost
        words = [arguments.program, training.command(arguments.data), arguments.options]
        cost = f"{queries * epochs / 1e6:.1f} M queries: {queries:,} x {epochs} epochs"
        print(" ".join(filter(None, words)), "#", cost)


if __name__ == "__main__":
    main()
