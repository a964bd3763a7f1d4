"""Import mutated files: each must be rejected with an error, or imported as an independent reader reads it.

``python tests/campaigns/data_fuzz.py --count 50000 --seed 0``; a failure prints the command that repeats it.
"""

import csv
import json
import os
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from campaigns.common import Campaign, count_by
from campaigns.forked import in_fork
from campaigns.independent import Fact, facts_of
from campaigns.mutated_files import mutated_file

CHUNK = 200
"""Files for one process: a new one is needed after a crash only, but memory that leaks would show."""


def main() -> None:
    """Run the campaign and print its figures."""
    campaign = Campaign(__file__, __doc__, "files", count=50_000)
    for module in ("titer.cli.import_data", "titer.data.import_files", "titer.data.dataset_folder", "polars"):
        import_module(module)  # once, and used in forks only
    # Typer builds all commands again at each call, which takes longer than an import.
    cli: Any = import_module("titer.cli.main")
    cli.app = typer.main.get_command(cli.app)
    outcomes: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="titer-data-") as folder:
        numbers = list(campaign_chunk(campaign))
        while numbers:
            results = try_files(numbers, Path(folder))
            for number, (kind, outcome, problem) in results.items():
                kinds[kind] += 1
                outcomes[outcome] += 1
                if problem:
                    campaign.problem(number, f"{kind}: {problem}")
            # After a crash, the files after the one that caused it are tried again.
            numbers = [number for number in numbers if number not in results] or list(campaign_chunk(campaign))
    campaign.end(outcomes=count_by(outcomes), kinds=count_by(kinds))


def campaign_chunk(campaign: Campaign) -> range:
    """Return the numbers of the next files; none if all are done or the time is up."""
    if campaign.is_over and campaign.num_trials:
        return range(0)
    start = campaign.options.seed + campaign.num_trials
    size = min(CHUNK, campaign.options.count - campaign.num_trials)
    campaign.num_trials += size
    return range(start, start + size)


def try_files(numbers: list[int], folder: Path) -> dict[int, tuple[str, str, str]]:
    """Import files in a process of their own; return kind, outcome and problem of each up to a crash."""
    reports = folder / "reports"
    reports.unlink(missing_ok=True)

    def work() -> None:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        with reports.open("a", buffering=1) as file:
            for number in numbers:
                print(json.dumps([number]), file=file)
                print(json.dumps([number, *try_file(number, folder / "work")]), file=file)

    code = in_fork(work, folder / "child")
    results: dict[int, tuple[str, str, str]] = {}
    number = numbers[0]
    for line in reports.read_text().splitlines():
        number, *result = json.loads(line)
        if result:
            results[number] = (result[0], result[1], result[2])
    if code != 0 and number not in results:
        said = (folder / "child").read_text(errors="replace")[-1000:]
        results[number] = ("unknown", "crash", f"the process ended with {code}: {said}")
    return results


def try_file(number: int, folder: Path) -> tuple[str, str, str]:
    """Import one file; return its kind, the outcome, and what is wrong with it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    name, content, before = mutated_file(number)
    (folder / name).write_bytes(content)
    (folder / "before").mkdir()
    (folder / "before" / name).write_bytes(before)
    return name.removeprefix("facts"), *outcome(folder, name, skips=number % 4 != 0)


def outcome(folder: Path, name: str, *, skips: bool) -> tuple[str, str]:
    """Import a file and compare the dataset with what another reader finds; return the outcome, and what is wrong."""
    code, said = run_import(folder, name, skips)
    if code is None:
        return "traceback", said
    if code != 0:
        is_plain = "error:" in said and "Traceback" not in said
        return "rejected", "" if is_plain else f"exit code {code} without an error message: {said[-500:]!r}"
    rejected, found = rejected_rows(folder / "data.rejected.csv"), imported_facts(folder / "data")
    try:
        expected, what = facts_of(folder / name, rejected), "imported with rejected rows" if rejected else "imported"
    except Exception as error:  # noqa: BLE001 - whatever the other reader raises, it does not read the file
        # Such as a flipped bit in a part of the metadata that only one of the readers looks at.
        expected, what = facts_of(folder / "before" / name, rejected), "imported as before the damage"
        if found != expected:
            return "silent change", f"the other reader rejects the file: {type(error).__name__}: {error}"
    if found == expected:
        return what, ""
    missing, added = expected - found, found - expected
    return "silent change", f"not imported: {list(missing)[:3]}, imported instead: {list(added)[:3]}"


def run_import(folder: Path, name: str, skips: bool) -> tuple[int | None, str]:
    """Run ``titer data import`` in this process; return its exit code, None for a traceback, and its output."""
    from titer.cli.main import main as titer

    output = folder / "output"
    descriptor = os.open(output, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    words = ["--out", str(folder / "data"), "--unit", "day", "--split", "1,0,0"]
    sys.argv = ["titer", "data", "import", str(folder / name), *words, *(["--bad-rows", "skip"] if skips else [])]
    code: int | None = 0
    problem = ""
    try:
        titer()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - the command would print a traceback
        code, problem = None, traceback.format_exc()[-1500:]
    sys.stdout.flush()
    sys.stderr.flush()
    return code, problem or output.read_text(encoding="utf-8", errors="replace")


def imported_facts(folder: Path) -> Counter[Fact]:
    """Return how often each fact is in a dataset, in names and dates."""
    from titer.data.dataset_folder import open_dataset

    dataset = open_dataset(folder)
    entities, relations = dataset.vocabulary.entities, dataset.vocabulary.relations
    return Counter((entities[s], relations[r], entities[o], dataset.axis.label(t)) for s, r, o, t in dataset.facts)


def rejected_rows(path: Path) -> set[int]:
    """Return the numbers of the rows in a list of rejected rows."""
    if not path.exists():
        return set()
    with path.open(encoding="utf-8", newline="") as file:
        return {int(row["rejected_row"]) for row in csv.DictReader(file)}


if __name__ == "__main__":
    main()
