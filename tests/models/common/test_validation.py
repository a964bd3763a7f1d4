import re
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from titer.errors import ConfigError
from titer.models.common.validation import (
    check_at_least_one,
    check_not_negative,
    check_one_of,
    check_partial,
    check_positive,
    check_share,
)


@pytest.mark.parametrize(
    ("check", "good", "bad", "message"),
    [
        (check_at_least_one, [1, 7], [0, -1], "must be at least 1"),
        (check_positive, [0.1, 3], [0, -0.1], "must be positive"),
        (check_not_negative, [0, 0.1], [-0.1], "must be at least 0"),
        (check_share, [0, 0.5, 1], [-0.1, 1.1], "must be between 0 and 1"),
        (check_partial, [0, 0.5], [-0.1, 1, 1.1], "must be at least 0 and below 1"),
    ],
)
def test_invalid_settings_are_named_with_the_valid_values(
    check: Callable[..., None], good: list[float], bad: list[float], message: str
):
    for value in good:
        check(SimpleNamespace(first=value, second=value), "first", "second")
    for value in [*bad, float("nan")]:
        with pytest.raises(ConfigError, match=re.escape(f"model.second {message}, not {value}")):
            check(SimpleNamespace(first=good[0], second=value), "first", "second")


def test_an_invalid_choice_lists_the_valid_ones():
    check_one_of(SimpleNamespace(solver="euler"), "solver", ("euler", "rk4"))
    with pytest.raises(ConfigError, match=r"model.solver must be one of euler, rk4, not 'magic'"):
        check_one_of(SimpleNamespace(solver="magic"), "solver", ("euler", "rk4"))
