"""Past event forecasts against what happened, and event forecasts under a changed history."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quick_events import store_quick_events
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.errors import TiterError, UnknownFactError
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.past_windows import PastWindows
from titer.forecasting.track_record import UNLIKELY, CheckedForecast, past_starts
from titer.runs.run import Run
from titer.runs.train import train
from titer.training.config import Config
from titer.training.layout import EVENT_CHECKS

EVENT = ("Aldoria", "hold talks with", "Drovia")

pytestmark = pytest.mark.slow  # an event model is trained


@pytest.fixture(scope="module")
def run(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with an event model that is trained in a second."""
    run = train(world_data, Config.from_dict({}, "recurrency"), tmp_path_factory.mktemp("record") / "run")
    store_quick_events(run.path)
    return run


@pytest.fixture(scope="module")
def forecaster(run: Run) -> Forecaster:
    return Forecaster.load(run, "cpu")


@pytest.fixture(scope="module")
def window(forecaster: Forecaster) -> CheckedForecast:
    return forecaster.check("2023-06-20", 7, top=40)


def test_events_happened_if_and_only_if_a_fact_of_the_window_has_their_names(
    window: CheckedForecast, world_data: Dataset
):
    names, first = world_data.vocabulary, world_data.axis.step("2023-06-20")
    happened = {
        (names.entities[s], names.relations[r], names.entities[o])
        for s, r, o, t in world_data.facts
        if first <= t < first + 7
    }
    assert window.events == len(happened)
    for one in (*window.top, *window.surprises):
        assert one.happened == ((one.subject, one.relation, one.object) in happened)
    assert window.hits == sum(one.happened for one in window.top)
    assert all(one.happened and one.probability < UNLIKELY for one in window.surprises)
    frequent = sum(one.forecasts * one.frequency for one in window.reliability)
    assert frequent <= len(happened) + 1e-6


def test_the_most_likely_events_of_a_past_window_are_those_of_its_forecast(
    window: CheckedForecast, forecaster: Forecaster
):
    found = forecaster.events(start="2023-06-20", within=7, top=40)
    assert [(one.subject, one.relation, one.object, one.probability) for one in window.top] == [
        (one.subject, one.relation, one.object, one.probability) for one in found.events
    ]
    assert window.expected == found.expected
    unlikely = window.surprises[0]
    likely = forecaster.likely(unlikely.subject, unlikely.relation, unlikely.object, 7, start="2023-06-20")
    assert likely.probability == pytest.approx(unlikely.probability, rel=1e-4)


def test_facts_of_the_window_do_not_change_its_probabilities(window: CheckedForecast, run: Run):
    dataset, first = run.dataset, run.dataset.axis.step("2023-06-20")
    late = [row for row in dataset.test if row[3] >= first]
    # The same names, so that the candidates are the same, but other facts in the window and after it.
    changed = Facts.from_rows([row if row[3] < first else (row[2], row[1], row[0], row[3]) for row in dataset.test])
    assert late
    other = Forecaster(run.load_model("cpu"), replace(dataset, test=changed), run=run).check("2023-06-20", 7, top=40)
    assert [replace(one, happened=False) for one in other.top] == [replace(one, happened=False) for one in window.top]
    assert other.expected == window.expected
    assert other.hits != window.hits


def test_a_window_that_is_not_over_is_refused(forecaster: Forecaster):
    with pytest.raises(TiterError, match="is not over"):
        forecaster.check("2023-06-29", 7)


@given(st.integers(0, 60), st.integers(1, 9), st.integers(1, 9))
def test_past_windows_follow_each_other_after_the_validation_split(later: int, steps: int, limit: int):
    train, valid = (Facts.from_rows([(0, 0, 1, time)]) for time in (10, 20))
    dataset = Dataset.__new__(Dataset)
    object.__setattr__(dataset, "train", train)
    object.__setattr__(dataset, "valid", valid)
    starts = past_starts(dataset, 20 + later, steps, limit)
    assert len(starts) == min(limit, later // steps)
    assert all(one - other == steps for one, other in pairwise(starts))
    assert all(start > 20 and start + steps - 1 <= 20 + later for start in starts)
    # A further step moves no window.
    assert set(past_starts(dataset, 20 + later + 1, steps, 99)) >= set(past_starts(dataset, 20 + later, steps, 99))


def test_checked_windows_are_kept_in_the_run_until_their_facts_change(run: Run, tmp_path: Path):
    with Forecaster.load(run, "cpu", tmp_path / "facts.db") as forecaster:
        windows = PastWindows(forecaster)
        found = [windows.check(start) for start in windows.starts]
        assert windows.known() == found
        assert PastWindows(forecaster).known() == found  # from the file
        kept = json.loads((run.path / EVENT_CHECKS).read_text(encoding="utf-8"))["windows"]
        assert [row["forecast"]["start"] for row in kept] == [one.start for one in found]
        from titer.store.adding import add_records

        fact = {"subject": "Aldoria", "relation": "accuse", "object": "Drovia"}
        end = found[1].end
        add_records(forecaster.fact_store, [{**fact, "time": end}], backfill=True)
        forecaster.refresh()
        assert [one.start for one in PastWindows(forecaster).known()] == []  # of both windows, the facts are others
        (run.path / EVENT_CHECKS).write_text("damaged", encoding="utf-8")
        assert PastWindows(forecaster).known() == []


def test_when_without_a_fact_is_when_as_if_it_had_never_been_known(forecaster: Forecaster, run: Run):
    dataset = run.dataset
    names = dataset.vocabulary
    ids = names.entity_ids["Aldoria"], names.relation_ids["hold talks with"], names.entity_ids["Drovia"]
    row = max((row for row in dataset.test if tuple(row[:3]) == ids), key=lambda row: row[3])
    fact = (*EVENT, dataset.axis.label(row[3]))
    never = replace(dataset, test=Facts.from_rows([one for one in dataset.test if tuple(one) != tuple(row)]))
    expected = Forecaster(run.load_model("cpu"), never, run=run).when(*EVENT, explain=2)
    found = forecaster.when(*EVENT, explain=2, without=[fact])
    assert [one.by for one in found.curve] == pytest.approx([one.by for one in expected.curve], rel=1e-5)
    assert found.event.times == expected.event.times == forecaster.when(*EVENT).event.times - 1
    assert [one.by for one in found.curve] != [one.by for one in forecaster.when(*EVENT).curve]


def test_likely_with_a_supposed_fact_knows_it_and_its_new_entity(forecaster: Forecaster):
    fact = ("Aldoria", "hold talks with", "Newland", "2023-06-30")
    found = forecaster.likely("Aldoria", "hold talks with", "Newland", 7, with_=[fact])
    assert found.event.times == 1
    assert found.event.last is not None
    assert found.event.last.time == "2023-06-30"
    assert "Newland" not in forecaster.vocabulary.entities


def test_facts_at_or_after_the_first_step_cannot_be_supposed(forecaster: Forecaster):
    with pytest.raises(TiterError, match="only facts before"):
        forecaster.when(*EVENT, with_=[(*EVENT, "2023-07-01")])
    with pytest.raises(TiterError, match="only facts before"):
        forecaster.when(*EVENT, start="2023-06-10", with_=[(*EVENT, "2023-06-11")])
    with pytest.raises(UnknownFactError):
        forecaster.likely(*EVENT, without=[("Aldoria", "accuse", "Drovia", "2023-01-01")])
