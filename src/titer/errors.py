"""The errors that a user can mend. The command line prints them without a traceback."""


class TiterError(Exception):
    """Base of everything that titer reports as the caller's to mend."""


class DataError(TiterError):
    """A file or a fact that cannot be used as it is."""


class ConfigError(TiterError):
    """A setting that does not exist, has the wrong type or an impossible value."""


class NoEvidenceError(TiterError):
    """A model that shows no evidence, where evidence is to be measured."""


class PluginError(TiterError):
    """A model of an installed package that cannot be used as it is."""


class RunError(TiterError):
    """A run directory that is missing something or was damaged."""


class StoreError(TiterError):
    """A database of added facts that cannot be reached, is damaged, or belongs to something else."""


class UnknownNameError(TiterError):
    """A name that nothing goes by; carries the names that come closest."""

    def __init__(self, message: str, suggestions: list[str] | None = None):
        self.suggestions = suggestions or []
        if self.suggestions:
            message += "\nDid you mean: " + ", ".join(self.suggestions) + "?"
        super().__init__(message)


class UnknownFactError(TiterError):
    """A fact that is not there; carries the facts that come closest."""

    def __init__(self, message: str, suggestions: list[str]):
        self.suggestions = suggestions
        super().__init__("\n  ".join([f"{message}\nDid you mean:", *suggestions]) if suggestions else message)


class MissingPackageError(TiterError):
    """An optional package is needed and not installed."""
