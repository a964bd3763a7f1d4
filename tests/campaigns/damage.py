"""Damage the files of a run at random: every damage must be harmless or give one clear error.

``python tests/campaigns/damage.py --count 2000 --seed 0``; a failure prints the command that repeats it.
"""

import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from campaigns.common import Campaign, count_by
from campaigns.small_run import make_small_run
from titer.errors import TiterError
from titer.forecasting.forecaster import Forecaster
from titer.runs.events import event_evaluations
from titer.runs.run import Run
from titer.store.facts import FactStore, NamedFact

QUESTIONS = [("Aldoria", "hold talks with"), ("Caldera", "invite"), ("Drovia", "accuse")]


def make_run(folder: Path) -> Path:
    """Train a small run with added and removed facts."""
    run = Run(make_small_run(folder))
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
        events = forecaster.events("Aldoria", top=5).to_dict()
    return answers, events, run.log_rows, run.evaluations, event_evaluations(run), run.summary.get("temperature")


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
    """Return the files whose content matters; the card and curves are for people, and checkpoints for resuming."""
    found = [path.relative_to(run) for path in run.rglob("*") if path.is_file() and path.stat().st_size]
    return sorted(path for path in found if not str(path).startswith(("README.md", "checkpoint-", "tensorboard")))


def main() -> None:
    """Run the campaign and print its figures."""
    campaign = Campaign(__file__, __doc__, "damages", count=2000)
    outcomes: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="titer-damage-") as folder:
        run = make_run(Path(folder))
        expected, names = observe(run), files(run)
        for number in campaign.numbers():
            choice = random.Random(number)
            path = choice.choice(names)
            copy = Path(folder) / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(run, copy)
            (copy / path).write_bytes(damage((run / path).read_bytes(), choice))
            result = outcome(copy, expected)
            kinds[str(path)] += 1
            outcomes[result.partition(":")[0]] += 1
            if result not in ("error", "harmless"):
                campaign.problem(number, f"{path}: {result}")
    campaign.end(outcomes=count_by(outcomes), files=count_by(kinds))


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
