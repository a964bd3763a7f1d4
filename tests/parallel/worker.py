"""One of several processes that do all jobs together. Writes what it got into a folder."""

import sys
import warnings
from pathlib import Path

import torch
from safetensors.torch import save_file

from parallel.jobs import JOBS, SMALL, trained
from titer.parallel import processes


def main() -> None:
    """Do all jobs as the process that the environment names."""
    torch.set_num_threads(1)
    warnings.simplefilter("error")  # users would see a warning of each process
    folder = Path(sys.argv[1])
    with processes.joined(torch.device("cpu")):
        number = processes.rank()
        for name, job in JOBS.items():
            save_file({key: t.contiguous() for key, t in job().items()}, folder / f"{name}-{number}.safetensors")
        for name in SMALL:
            save_file(
                {key: t.contiguous() for key, t in trained(name).items()}, folder / f"{name}-{number}.safetensors"
            )
        # Its import would take seconds in each process.
        assert "torch._dynamo" not in sys.modules
