"""Whether SIGHUP is a request to reload, or the end of the terminal that started the service."""

import os


class Terminal:
    """The terminal that a process was started in, if there is one."""

    def __init__(self) -> None:
        self._was_open = _is_open()

    @property
    def is_closed(self) -> bool:
        """Whether there was a terminal that was closed meanwhile."""
        return self._was_open and not _is_open()


def _is_open() -> bool:
    try:
        return os.isatty(0)
    except OSError:
        return False
