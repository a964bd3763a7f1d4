"""What a command says when it is interrupted."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from titer.cli.screen import note

INTERRUPTED = 130
"""Exit status of a command that Ctrl-C ended, as shells define it."""


@contextmanager
def continued_by(out: Path, command: str | None = None) -> Generator[None]:
    """On Ctrl-C, say how far a training is and how to continue it, and exit.

    Args:
        out: The run directory that is written.
        command: The command to continue with; by default ``titer train --resume``.
    """
    try:
        yield
    except KeyboardInterrupt:
        from titer.runs.place import place_to_resume

        done = sorted(place_to_resume(out).glob("checkpoint-*.safetensors"))
        where = f"after epoch {int(done[-1].stem.rpartition('-')[2])}" if done else "before its first checkpoint"
        note(f"\ninterrupted {where}; to continue: {command or f'titer train --out {out} --resume'}")
        sys.exit(INTERRUPTED)


def note_state(path: Path) -> None:
    """Print a warning if the training of a run is not finished."""
    from titer.runs.run import Run

    run = Run(path)
    if not run.is_finished:
        note(f"warning: {path}: {run.state}; to continue: titer train --out {path} --resume")
