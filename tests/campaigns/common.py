"""What all campaigns share: options, seeds, the time budget, commands that repeat a failure, and the result file."""

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MAX_PRINTED = 20
"""Problems that are printed; the result file has all of them."""


class Campaign:
    """One execution of a campaign: a number of random trials, each of which draws all its choices from its own number.

    Args:
        script: The path of the script, whose name is that of the campaign.
        description: What the campaign does; the first line counts.
        trials: What a trial is called in messages, such as ``requests``.
        count: Number of trials unless ``--count`` gives another one.
        parser: Further options of the script.
    """

    def __init__(
        self,
        script: str,
        description: str | None,
        trials: str,
        *,
        count: int,
        parser: argparse.ArgumentParser | None = None,
        words: list[str] | None = None,
    ):
        parser = parser or argparse.ArgumentParser()
        parser.description = (description or "").partition("\n")[0]
        parser.add_argument("--count", type=int, default=count, help=f"number of {trials} (default: {count:,})")
        parser.add_argument("--seed", type=int, default=0, help="number of the first trial (default: 0)")
        parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no trial after this time")
        parser.add_argument("--out", type=Path, help="JSON file for the result")
        self.options = parser.parse_args(words)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # processes of the campaign are stopped, too
        self.name, self.trials = Path(script).stem, trials
        self.given = sys.argv[1:] if words is None else words
        # At the start, since the sources may be edited while a long campaign runs.
        self.provenance = _provenance() if self.options.out is not None else {}
        self.started = time.monotonic()
        self.num_trials = 0
        self.problems: list[dict[str, str]] = []
        print(f"{self.name}: seed {self.options.seed}", flush=True)

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return time.monotonic() - self.started

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.seconds > self.options.seconds

    def numbers(self) -> Iterator[int]:
        """Yield the number of each trial until all are done or the time is up; of the first in any case."""
        for number in range(self.options.seed, self.options.seed + self.options.count):
            if self.is_over and self.num_trials:
                return
            self.num_trials += 1
            yield number

    def problem(self, number: int, text: str, *words: str) -> None:
        """Record a problem, and print the command that repeats it.

        Args:
            number: The trial.
            text: What is wrong.
            words: Options that the trial needs in addition.
        """
        command = " ".join(["python", f"tests/campaigns/{self.name}.py", *words, f"--seed {number} --count 1"])
        self.report(command, text)

    def report(self, command: str, text: str) -> None:
        """Record a problem with the command that repeats it."""
        self.problems.append({"command": command, "problem": text})
        if len(self.problems) <= MAX_PRINTED:
            print(f"PROBLEM: {text}\n  repeat: {command}", flush=True)

    def end(self, **figures: Any) -> None:
        """Print the figures, write the result file, and exit with 1 if there were problems."""
        for name, value in figures.items():
            if not isinstance(value, list):  # lists are for the result file
                print(f"  {name.replace('_', ' ')}: {_shown(value)}")
        print(f"{self.name}: {self.num_trials:,} {self.trials}, {len(self.problems)} problems, {self.seconds:.0f} s")
        if self.options.out is not None:
            self.options.out.write_text(json.dumps(self.result(figures), indent=2) + "\n", encoding="utf-8")
        sys.stdout.flush()
        sys.exit(bool(self.problems))

    def result(self, figures: dict[str, Any]) -> dict[str, Any]:
        """Return what the result file contains."""
        without_out = [w for i, w in enumerate(self.given) if w != "--out" and self.given[i - 1 : i] != ["--out"]]
        return {
            "campaign": self.name,
            "command": " ".join(["python", f"tests/campaigns/{self.name}.py", *without_out]),
            **self.provenance,
            "seed": self.options.seed,
            "seconds": round(self.seconds, 1),
            "trials": self.num_trials,
            "unit": self.trials,
            "figures": figures,
            "problems": self.problems,
        }


def _provenance() -> dict[str, Any]:
    import torch

    from titer.runs.provenance import provenance

    return provenance(torch.device("cpu"))


def _shown(value: Any) -> str:
    return ", ".join(f"{name} {one}" for name, one in value.items()) if isinstance(value, dict) else str(value)


def count_by(counts: dict[str, int]) -> dict[str, int]:
    """Return counts in the order of their names, for figures."""
    return dict(sorted(counts.items()))
