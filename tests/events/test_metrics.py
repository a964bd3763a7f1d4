"""Metrics of event forecasts, against definitions written out."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from titer.cli.events import HEADER, _cells
from titer.events.metrics import StepForecast, average_precision, measure, ranked, reliability

STEP = st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans()), min_size=1, max_size=30)


def step_of(pairs: list[tuple[float, bool]], missed: int = 0) -> StepForecast:
    probability = torch.tensor([p for p, _ in pairs])
    happened = torch.tensor([y for _, y in pairs])
    usual = torch.full_like(probability, 0.1)
    return StepForecast(probability, happened, torch.ones_like(happened), usual, int(happened.sum()), missed)


@given(STEP, st.integers(0, 5))
def test_average_precision_is_the_mean_precision_at_each_event(pairs: list[tuple[float, bool]], missed: int):
    order = sorted(range(len(pairs)), key=lambda place: (-pairs[place][0], place))
    hits, total = 0, 0.0
    for rank, place in enumerate(order, start=1):
        if pairs[place][1]:
            hits += 1
            total += hits / rank
    number = hits + missed
    found = average_precision(ranked(*(torch.tensor(column) for column in zip(*pairs, strict=True))), number)
    assert found == pytest.approx(total / max(number, 1))


@given(STEP)
def test_every_forecast_is_in_one_bin_of_the_reliability_table(pairs: list[tuple[float, bool]]):
    probability, happened = (torch.tensor(column) for column in zip(*pairs, strict=True))
    bins = reliability(probability, happened)
    assert sum(b.forecasts for b in bins) == len(pairs)
    assert sum(b.forecasts * b.frequency for b in bins) == pytest.approx(sum(y for _, y in pairs))
    assert sum(b.forecasts * b.probability for b in bins) == pytest.approx(sum(p for p, _ in pairs), abs=1e-4)


def test_certain_and_right_forecasts_are_perfect():
    found = measure([step_of([(1.0, True), (0.0, False), (1.0, True)])])
    assert found.average_precision == found.precision_at_n == found.recall[10] == 1
    assert found.brier == 0
    assert found.brier_skill == 1
    assert found.expected_per_event == 1
    assert found.worst_bin(1) == 0
    assert found.worst_bin(3) is None  # two events happened


@pytest.mark.parametrize(("right", "shown"), [(150, "25.0"), (99, "–")])
def test_the_worst_bin_is_shown_in_percentage_points(right: int, shown: str):
    found = measure([step_of([(0.5, True)] * right + [(0.5, False)] * (200 - right))])
    assert _cells(found)[HEADER.index("worst bin") - 1] == shown


def test_events_that_are_not_listed_count_as_missed():
    listed, missing = measure([step_of([(1.0, True)])]), measure([step_of([(1.0, True)], missed=1)])
    assert missing.average_precision == listed.average_precision / 2
    assert missing.precision_at_n == listed.precision_at_n / 2
    assert missing.brier == 0.5


def test_the_usual_rate_has_no_skill():
    assert measure([step_of([(0.1, True), (0.1, False)])]).brier_skill == pytest.approx(0)
