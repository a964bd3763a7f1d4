"""Errors the user can fix. The command line prints them without a traceback."""


class TiterError(Exception):
    """Base class of all errors the user can fix."""


def one_line(error: Exception) -> str:
    """Return what to print of an error that is not a defect of the program, such as a full disk."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, TiterError):
        return str(error)  # some list suggestions on further lines
    return next(iter(str(error).splitlines()), "") or type(error).__name__


class DataError(TiterError):
    """A file, a fact or a date cannot be used."""


class ConfigError(TiterError):
    """A setting does not exist, has the wrong type or has an impossible value."""


class NoEvidenceError(TiterError):
    """A model gives no evidence, but evidence is to be evaluated."""


class PluginError(TiterError):
    """A model or a tracker of an installed package cannot be used."""


class RunError(TiterError):
    """A run directory is incomplete or damaged."""


class StoreError(TiterError):
    """A fact store cannot be reached, is damaged, or belongs to another dataset."""


def did_you_mean(suggestions: list[str]) -> str:
    """Return the end of an error message that suggests names; empty without any."""
    if not suggestions:
        return ""
    *others, last = map(repr, suggestions)
    return f"; did you mean {', '.join(others)} or {last}?" if others else f"; did you mean {last}?"


class UnknownNameError(TiterError):
    """A name is unknown.

    Attributes:
        suggestions: The most similar known names.
    """

    def __init__(self, message: str, suggestions: list[str] | None = None):
        self.suggestions = suggestions or []
        super().__init__(message + did_you_mean(self.suggestions))


class UnknownFactError(TiterError):
    """A fact is unknown.

    Attributes:
        suggestions: The most similar known facts.
    """

    def __init__(self, message: str, suggestions: list[str]):
        self.suggestions = suggestions
        super().__init__("\n  ".join([f"{message}; did you mean:", *suggestions]) if suggestions else message)


class MissingPackageError(TiterError):
    """An optional package is not installed."""
