"""Run the commands of titer in this process."""

from pathlib import Path

from typer.testing import CliRunner, Result

from titer.cli.main import app


def invoke(*words: str | Path) -> Result:
    """Run a command and return what happened: exit code, output, and the exception, if any."""
    return CliRunner().invoke(app, [str(word) for word in words])


def titer(*words: str | Path) -> str:
    """Run a command that must succeed and return its standard output. An error of the command is raised."""
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout
