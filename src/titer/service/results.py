"""Results of a forecaster and of its fact store as response models."""

from functools import cache

from pydantic import TypeAdapter

from titer.forecasting.events.results import EventForecast, Likelihood, LikelyEvent, WhenForecast
from titer.forecasting.forecast import Answer, Forecast, PastFact, Reason, Unanswered
from titer.forecasting.track_record import CheckedEvent, CheckedForecast
from titer.forecasting.what_if import Move, WhatIf
from titer.store.named import Added

RESULTS = (
    *(PastFact, Reason, Answer, Forecast, Unanswered, Move, WhatIf),
    *(LikelyEvent, EventForecast, Likelihood, WhenForecast, CheckedEvent, CheckedForecast),
    Added,
)
"""The dataclasses that routes return. A class follows those of its fields."""


@cache
def keep_schemas() -> None:
    """Store the pydantic schema of each result class in the class.

    Pydantic stores the schemas of its own models only. It would parse the source of these classes for the docstrings
    of their fields again for every route that returns one.
    """
    for result in RESULTS:
        # Pydantic reads this attribute, which its own models declare.
        result.__pydantic_core_schema__ = TypeAdapter(result).core_schema  # pyright: ignore[reportAttributeAccessIssue]
