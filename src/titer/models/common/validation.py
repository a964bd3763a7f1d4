"""Checks of the settings of models, with errors that name the setting and the valid values."""

from collections.abc import Callable, Iterable
from typing import Any

from titer.errors import ConfigError


def check_at_least_one(settings: object, *names: str) -> None:
    """Require settings to be at least 1."""
    _check(settings, names, lambda value: value >= 1, "be at least 1")


def check_positive(settings: object, *names: str) -> None:
    """Require settings to be positive."""
    _check(settings, names, lambda value: value > 0, "be positive")


def check_not_negative(settings: object, *names: str) -> None:
    """Require settings to be at least 0."""
    _check(settings, names, lambda value: value >= 0, "be at least 0")


def check_share(settings: object, *names: str) -> None:
    """Require settings to be between 0 and 1, both included."""
    _check(settings, names, lambda value: 0 <= value <= 1, "be between 0 and 1")


def check_partial(settings: object, *names: str) -> None:
    """Require settings to be at least 0 and below 1."""
    _check(settings, names, lambda value: 0 <= value < 1, "be at least 0 and below 1")


def check_at_most(settings: object, limit: float, *names: str) -> None:
    """Check that values do not exceed a limit."""
    _check(settings, names, lambda value: value <= limit, f"be at most {limit}")


def check_one_of(settings: object, name: str, known: Iterable[str]) -> None:
    """Require a setting to be one of some values."""
    known = list(known)
    _check(settings, (name,), lambda value: value in known, f"be one of {', '.join(known)}")


def _check(settings: object, names: Iterable[str], holds: Callable[[Any], bool], what: str) -> None:
    table = getattr(settings, "TABLE", "model")
    for name in names:
        value = getattr(settings, name)
        if not holds(value):
            raise ConfigError(f"{table}.{name} must {what}, not {value!r}")
