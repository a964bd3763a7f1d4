"""Run the commands of titer, in this process or in another."""

import functools
import os
import subprocess
from pathlib import Path

from typer import testing
from typer.testing import CliRunner, Result

import warm
from titer.cli.main import app
from warm_processes import WarmProcess

# Building the commands from their signatures takes longer than most of them; once is enough.
testing._get_command = functools.cache(testing._get_command)  # pyright: ignore


def invoke(*words: str | Path) -> Result:
    """Run a command and return what happened: exit code, output, and the exception, if any."""
    return CliRunner().invoke(app, [str(word) for word in words])


def titer(*words: str | Path) -> str:
    """Run a command that must succeed and return its standard output. An error of the command is raised."""
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def titer_process(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, as a user does, and return what it printed and its exit code."""
    environment = {**os.environ, warm.WARM_WORKERS: "1"}
    process = WarmProcess(*words, environment=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    stdout, stderr = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.wait(), stdout, stderr)
