"""Damage the files of a run at random: every damage must be harmless or give one clear error.

``python tests/campaigns/damage.py --count 2000 --seed 0``; a failure prints the command that repeats it.
"""

import argparse
import contextlib
import io
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from titer.errors import TiterError
from titer.forecasting.forecaster import Forecaster
from titer.runs.events import event_evaluations
from titer.runs.run import Run
from titer.store.facts import FactStore, NamedFact

QUESTIONS = [("Aldoria", "hold talks with"), ("Caldera", "invite"), ("Drovia", "accuse")]


def make_run(folder: Path) -> Path:
    """Train a small run with added and removed facts."""
    from titer.data.small_world import small_world
    from titer.runs.train import train
    from titer.training.config import Config

    model = {"dim": 4, "relation_dim": 4, "hidden_dim": 4, "first_edges": 4, "second_edges": 4}
    training = {"epochs": 1, "batch_size": 1024, "device": "cpu"}
    with contextlib.redirect_stderr(io.StringIO()):
        run = train(small_world().dataset, Config.from_dict({"model": model, "training": training}), folder / "run")
    with FactStore(run.store_path, run.dataset) as store:
        facts = [NamedFact("Aldoria", "hold talks with", f"Newland {i}", store.last_step + 1) for i in range(200)]
        store.add(facts)
        store.remove([3, 5])
    return run.path


def observe(path: Path) -> Any:
    """Return everything that users see of a run."""
    run = Run(path)
    with Forecaster.load(run, "cpu") as forecaster:
        answers = [forecaster.ask(subject, relation, top=20).to_dict() for subject, relation in QUESTIONS]
    return answers, run.log_rows, run.evaluations, event_evaluations(run), run.summary.get("temperature")


def damage(content: bytes, choice: random.Random) -> bytes:
    """Return a file as a bad disk, a cut copy or an editor could leave it."""
    size = len(content)
    start = choice.randrange(size)
    match choice.choice(["flip", "flip", "byte", "cut", "zero", "insert", "drop", "swap"]):
        case "flip":
            return content[:start] + bytes([content[start] ^ (1 << choice.randrange(8))]) + content[start + 1 :]
        case "byte":
            return content[:start] + bytes([choice.randrange(256)]) + content[start + 1 :]
        case "cut":
            return content[:start]
        case "zero":
            length = min(choice.choice([1, 16, 512, 4096]), size - start)
            return content[:start] + bytes(length) + content[start + length :]
        case "insert":
            return content[:start] + choice.randbytes(choice.choice([1, 7, 4096])) + content[start:]
        case "drop":
            return content[:start] + content[start + choice.choice([1, 7, 512]) :]
        case _:
            other = choice.randrange(size)
            low, high = sorted((start, other))
            return content[:low] + content[high:] + content[low:high]


def files(run: Path) -> list[Path]:
    """Return the files whose content matters; the card is text for people, and checkpoints are for resuming."""
    found = [path.relative_to(run) for path in run.rglob("*") if path.is_file() and path.stat().st_size]
    return sorted(path for path in found if path.name != "README.md" and not path.name.startswith("checkpoint-"))


def main() -> None:
    """Run the campaign and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    options = parser.parse_args()
    sys.exit(campaign(options.count, options.seed, options.seconds))


def campaign(count: int, seed: int, seconds: float) -> int:
    """Try damages; return the number of problems."""
    started, problems = time.monotonic(), 0
    tally: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory(prefix="titer-damage-") as folder:
        run = make_run(Path(folder))
        expected, kinds = observe(run), files(run)
        for number in range(seed, seed + count):
            if time.monotonic() - started > seconds:
                break
            choice = random.Random(number)
            path = choice.choice(kinds)
            copy = Path(folder) / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(run, copy)
            (copy / path).write_bytes(damage((run / path).read_bytes(), choice))
            result = outcome(copy, expected)
            tally.setdefault(str(path), Counter())[result.partition(":")[0]] += 1
            if result not in ("error", "harmless"):
                problems += 1
                print(f"python tests/campaigns/damage.py --count 1 --seed {number}  # {path}: {result}", flush=True)
    for name, counts in sorted(tally.items()):
        print(f"{name}: {dict(counts)}")
    total = sum(sum(counts.values()) for counts in tally.values())
    print(f"{total} damages, {problems} problems, {time.monotonic() - started:.0f} s")
    return problems


def outcome(run: Path, expected: Any) -> str:
    """Return whether a damage was harmless, gave an error of one line, or what went wrong."""
    try:
        return "harmless" if observe(run) == expected else "silent: other answers"
    except TiterError as error:
        return "error" if str(error).strip() else "silent: an error without a message"
    except OSError as error:
        return "error" if error.filename or str(error) else "traceback: OSError"
    except Exception as error:  # noqa: BLE001 - anything else is what the campaign looks for
        return f"traceback: {type(error).__name__}: {error}"


if __name__ == "__main__":
    main()
