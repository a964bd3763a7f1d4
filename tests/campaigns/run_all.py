"""Run all campaigns one after another, each with its part of the time, and print one table at the end.

``python tests/campaigns/run_all.py --seconds 300 --seed 0``; with ``--out FOLDER``, the results are kept as JSON files.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PARTS = {"kill_points": 2, "damage": 1, "kills": 2, "http_fuzz": 1, "data_fuzz": 1, "leaks": 1, "soak": 1}
"""The campaigns, with their parts of the time: those that train wait longer for each result."""
MAX_PRINTED = 20
"""Problems that are printed after the table."""
START_SECONDS = 8
"""Time that a campaign needs before its first trial, such as to train a model."""


def main() -> None:
    """Run all campaigns, and exit with 1 if one found a problem."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=300.0, help="time for all campaigns together (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all campaigns (default: 0)")
    parser.add_argument("--out", type=Path, help="folder for the result files")
    options = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="titer-campaigns-") as temporary:
        folder = options.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows: list[tuple[str, str, str, str]] = []
        found: list[str] = []
        for name in PARTS:
            left = options.seconds - (time.monotonic() - begin)
            code = run(name, share(name, left), options.seed, folder / f"{name}.json")
            rows.append(row(name, code, folder / f"{name}.json"))
            found += problems_of(folder / f"{name}.json")
    print_table([("campaign", "tried", "problems", "seconds"), *rows])
    # Once more at the end, since often only the last lines of a long output are kept.
    print(*found[:MAX_PRINTED], sep="\n")
    sys.exit(any(problems != "0" for _, _, problems, _ in rows))


def share(name: str, left: float) -> float:
    """Return the time of a campaign: its part of what is left for it and those after it."""
    names = list(PARTS)
    rest = names[names.index(name) :]
    return max(1.0, left * PARTS[name] / sum(PARTS[other] for other in rest) - START_SECONDS)


def run(name: str, seconds: float, seed: int, out: Path) -> int:
    """Run one campaign in a process of its own; return its exit code."""
    out.unlink(missing_ok=True)
    words = ["--seconds", f"{seconds:.0f}", "--seed", str(seed), "--out", str(out)]
    return subprocess.run([sys.executable, str(FOLDER / f"{name}.py"), *words]).returncode


def row(name: str, code: int, out: Path) -> tuple[str, str, str, str]:
    """Return the line of the table about a campaign; one without a result has failed."""
    if not out.exists():
        return name, "", f"ended with {code}", ""
    result = json.loads(out.read_text(encoding="utf-8"))
    tried = f"{result['trials']:,} {result['unit']}"
    return name, tried, str(len(result["problems"])), f"{result['seconds']:.0f}"


def problems_of(out: Path) -> list[str]:
    """Return the problems that a campaign found, each with the command that repeats it."""
    result = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {"problems": []}
    return [f"{one['problem']}\n  repeat: {one['command']}" for one in result["problems"]]


def print_table(rows: list[tuple[str, str, str, str]]) -> None:
    """Print rows in columns."""
    widths = [max(len(line[column]) for line in rows) for column in range(len(rows[0]))]
    print()
    for line in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


if __name__ == "__main__":
    main()
