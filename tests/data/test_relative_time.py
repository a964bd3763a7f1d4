"""Times relative to today and to the last known fact."""

from datetime import date

import numpy as np
import pytest

from titer.data.relative_time import step_of
from titer.data.time_axis import TimeAxis
from titer.data.time_unit import TimeUnit
from titer.errors import DataError, TiterError
from titer.forecasting.forecaster import Forecaster
from titer.models.recurrency import Recurrency

DAYS = TimeAxis.starting_at(TimeUnit.DAY, np.datetime64("2024-01-01"))
MONTHS = TimeAxis.starting_at(TimeUnit.MONTH, np.datetime64("2024-01"))
TODAY = date(2024, 3, 1)


@pytest.mark.parametrize(
    ("text", "axis", "label"),
    [
        ("today", DAYS, "2024-03-01"),
        ("Tomorrow", DAYS, "2024-03-02"),
        ("yesterday", DAYS, "2024-02-29"),
        (" tomorrow ", MONTHS, "2024-03"),
        ("2024-02-05", DAYS, "2024-02-05"),
        ("+1", DAYS, "2024-01-12"),
        ("+7d", DAYS, "2024-01-18"),
        ("+2w", DAYS, "2024-01-25"),
        ("+2 months", MONTHS, "2025-01"),
        ("+1y", MONTHS, "2025-11"),
    ],
)
def test_relative_times(text: str, axis: TimeAxis, label: str):
    assert axis.label(step_of(text, axis, 10, TODAY)) == label


def test_numbers_stay_numbers():
    axis = TimeAxis()
    assert step_of(7, axis, 3) == step_of("7", axis, 3) == 7
    assert step_of("+4", axis, 3) == 7
    with pytest.raises(DataError, match="counts time in integers"):
        step_of("tomorrow", axis, 3)
    with pytest.raises(TiterError, match=r"a time after \+ must be"):
        step_of("+soon", axis, 3)


def test_a_question_can_be_about_a_relative_time(world_data):
    forecaster = Forecaster(Recurrency(world_data.vocabulary, world_data.axis), world_data)
    assert forecaster.ask("Aldoria", "accuse", at="+1") == forecaster.ask("Aldoria", "accuse")
    assert forecaster.ask("Aldoria", "accuse", at="+7d").time == "2023-07-07"
    assert forecaster.ask("Aldoria", "accuse", at="today").time == date.today().isoformat()
