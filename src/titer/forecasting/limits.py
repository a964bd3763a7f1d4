"""Checks of the numbers that limit a forecast."""

from operator import index

from titer.errors import TiterError


def check_limit(name: str, value: int, minimum: int) -> None:
    """Require a limit to be a whole number that is not too small.

    Args:
        name: The name of the argument, for the error message.
        value: The limit that the caller gave.
        minimum: The smallest valid value.

    Raises:
        TiterError: The value is not a whole number, or is less than ``minimum``.
    """
    try:
        too_small = index(value) < minimum
    except TypeError:
        raise TiterError(f"{name} must be a whole number, not {value!r}") from None
    if too_small:
        raise TiterError(f"{name} must be at least {minimum}, not {value}")
