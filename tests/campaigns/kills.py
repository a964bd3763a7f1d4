"""Kill trainings and services at random times: nothing acknowledged is lost, and all trainings end with the same files.

Each episode is one training, or one service with clients that add facts, killed up to ten times.
``python tests/campaigns/kills.py --count 100 --seed 0``; a failure prints the command that repeats it.
"""

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from campaigns.common import Campaign, count_by
from campaigns.forked import in_fork, start, titer, wait
from campaigns.kill_points import prepare_dataset, train_words
from campaigns.killed_service import KilledService
from campaigns.small_run import make_small_run

MAX_KILLS = 10
MODELS = ("recurrency", "path_mixture")
TIMED = ("tensorboard", "training.json", "training.jsonl", "metrics.json")
"""Files with the duration or the time of the training, which differ between two equal ones."""


def main() -> None:
    """Run the campaign and print its figures."""
    campaign = Campaign(__file__, __doc__, "episodes", count=100)
    for module in ("titer.cli.import_data", "titer.runs.train", "titer.service.process", "titer.service.app"):
        import_module(module)  # once, and used in forks only: a process with threads must not be forked
    figures: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="titer-kills-") as folder:
        trainings = Trainings(Path(folder))
        run = Path(folder) / "served"
        code = in_fork(lambda: make_small_run(run, "recurrency"), Path(folder) / "output")
        assert code == 0, (Path(folder) / "output").read_text()
        for number in campaign.numbers():
            choice = random.Random(number)
            if number % 2:
                problems = trainings.episode(choice, campaign, figures)
            else:
                problems = service_episode(run / "run", Path(folder) / "service", choice, campaign, figures)
            for problem in problems:
                campaign.problem(number, problem)
    campaign.end(**count_by(figures))


class Trainings:
    """Trainings of small models, and the files that each has if it is not killed."""

    def __init__(self, folder: Path):
        self.folder, self.output = folder, folder / "training-output"
        self.data = folder / "data-only"
        self.data.mkdir()
        prepare_dataset(self.data)
        self.expected: dict[str, tuple[dict[str, bytes], float]] = {}

    def episode(self, choice: random.Random, campaign: Campaign, figures: Counter[str]) -> list[str]:
        """Kill a training up to ten times, resume it each time, and compare its files at the end."""
        model = choice.choice(MODELS)
        expected, seconds = self._expected(model)
        root = self._begin("killed")
        words = train_words(model)(root)
        for _ in range(MAX_KILLS):
            process = start(titer(*words), self.output)
            time.sleep(choice.uniform(0, seconds))
            os.kill(process, signal.SIGKILL)
            code = wait(process)
            if code == 0:  # it had ended
                break
            if code != -signal.SIGKILL:
                return [f"{model}: ended with {code}: {self.output.read_text()[-1000:]}"]
            figures["kills of trainings"] += 1
            words = train_words(model, "--resume")(root)
            if campaign.is_over:
                break
        code = in_fork(titer(*train_words(model, "--resume")(root)), self.output)
        if code != 0:
            return [f"{model}: --resume ended with {code}: {self.output.read_text()[-1000:]}"]
        figures["trainings finished"] += 1
        found = files(root / "run")
        differing = sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))
        return [f"{model}: other files than without kills: {differing}"] if differing else []

    def _expected(self, model: str) -> tuple[dict[str, bytes], float]:
        """Return the files of a training that is not killed, and how long it takes."""
        if model not in self.expected:
            root = self._begin("whole")
            began = time.monotonic()
            code = in_fork(titer(*train_words(model)(root)), self.output)
            assert code == 0, self.output.read_text()
            self.expected[model] = files(root / "run"), time.monotonic() - began
        return self.expected[model]

    def _begin(self, name: str) -> Path:
        root = self.folder / name
        shutil.rmtree(root, ignore_errors=True)
        return shutil.copytree(self.data, root)


def files(run: Path) -> dict[str, bytes]:
    """Return the content of the files of a run, without the times in them."""
    found = {str(path.relative_to(run)): path for path in run.rglob("*") if path.is_file()}
    contents = {name: path.read_bytes() for name, path in found.items() if not name.startswith(TIMED)}
    return {name: _tensors(text) if name.startswith("checkpoint-") else text for name, text in contents.items()}


def _tensors(content: bytes) -> bytes:
    """Return a file of tensors without its header, where a checkpoint has the log of the training."""
    return content[8 + int.from_bytes(content[:8], "little") :]


def service_episode(
    run: Path, folder: Path, choice: random.Random, campaign: Campaign, figures: Counter[str]
) -> list[str]:
    """Kill a service ten times while clients add facts, and require that all acknowledged facts are there."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(run, folder / "run")
    service = KilledService(folder)
    for _ in range(MAX_KILLS):
        if choice.random() < 0.2:
            service.kill_during_start(choice.uniform(0, 1.5))
        else:
            service.start()
            if problems := service.problems():
                service.kill()
                return problems
            service.kill_with_clients(choice.uniform(0.01, 0.6))
        figures["kills of services"] += 1
        if campaign.is_over:
            break
    service.start()
    try:
        problems = service.problems()
        figures["facts acknowledged"] += service.num_acknowledged
        return problems
    finally:
        service.kill()


if __name__ == "__main__":
    main()
