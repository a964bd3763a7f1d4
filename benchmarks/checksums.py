"""Measure what checking SHA-256 checksums costs: milliseconds of CPU time for a gigabyte.

    python benchmarks/checksums.py

A file of weights is written, and read with and without its check. CPU time depends little on other processes, and the
least of several tries counts. The result goes to ``benchmarks/checksums.json``; ``python benchmarks/render.py`` renders
it in ``docs/threat-model.md``.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load_file

from titer.files import write_json
from titer.files.checksums import sha256_of
from titer.files.tensors import load_tensors, save_tensors
from titer.runs.provenance import provenance

RESULT = Path(__file__).with_suffix(".json")


def milliseconds(work: Callable[[], object], tries: int) -> float:
    """Return the least CPU time of some tries."""
    found: list[float] = []
    for _ in range(tries):
        started = time.process_time()
        work()
        found.append(1000 * (time.process_time() - started))
    return min(found)


def main() -> None:
    """Measure, and write the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--gigabytes", type=float, default=1.0, help="size of the file")
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args()
    size = int(options.gigabytes * 1e9)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        save_tensors(path, {"weights": torch.rand(size // 4)}, {})
        checked = milliseconds(lambda: load_tensors(path), options.tries)
        unchecked = milliseconds(lambda: load_file(path)["weights"].sum(), options.tries)  # reads every page
        whole = milliseconds(lambda: sha256_of(path), options.tries)
    result = {
        "command": "python benchmarks/checksums.py",
        "gigabytes": options.gigabytes,
        "milliseconds_per_gigabyte": {
            "loading weights, with their check": round(checked / options.gigabytes),
            "loading weights, without it": round(unchecked / options.gigabytes),
            "checking a file, such as a split of a dataset": round(whole / options.gigabytes),
        },
        **provenance(torch.device("cpu")),
    }
    write_json(options.out, result)
    for name, value in result["milliseconds_per_gigabyte"].items():
        print(f"{name}: {value} ms per GB")


if __name__ == "__main__":
    main()
