"""What the settings of models may be: checks that say which one is wrong, and what it should be."""

from collections.abc import Callable, Iterable
from typing import Any

from titer.errors import ConfigError


def check_at_least_one(settings: object, *names: str) -> None:
    """Numbers of things."""
    _check(settings, names, lambda value: value >= 1, "be at least 1")


def check_positive(settings: object, *names: str) -> None:
    """Scales and ranges."""
    _check(settings, names, lambda value: value > 0, "be positive")


def check_not_negative(settings: object, *names: str) -> None:
    """Weights that may be nothing."""
    _check(settings, names, lambda value: value >= 0, "not be negative")


def check_share(settings: object, *names: str) -> None:
    """Shares that may be all or nothing."""
    _check(settings, names, lambda value: 0 <= value <= 1, "lie between 0 and 1")


def check_partial(settings: object, *names: str) -> None:
    """Shares that may not be all, such as what is dropped."""
    _check(settings, names, lambda value: 0 <= value < 1, "be at least 0 and below 1")


def check_at_most(settings: object, limit: float, *names: str) -> None:
    """Check that values do not exceed a limit."""
    _check(settings, names, lambda value: value <= limit, f"be at most {limit}")


def check_one_of(settings: object, name: str, known: Iterable[str]) -> None:
    """A choice."""
    known = list(known)
    _check(settings, (name,), lambda value: value in known, f"be one of {', '.join(known)}")


def _check(settings: object, names: Iterable[str], holds: Callable[[Any], bool], what: str) -> None:
    table = getattr(settings, "TABLE", "model")
    for name in names:
        value = getattr(settings, name)
        if not holds(value):
            raise ConfigError(f"{table}.{name} must {what}, not {value!r}")
