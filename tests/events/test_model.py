"""Event forecasts: the rule of forecasting, and probabilities that agree with each other."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError, RunError
from titer.events.config import EventConfig
from titer.events.evaluate import evaluate_events, seems_incomplete
from titer.events.event_list import EventList
from titer.events.model import EventModel, still_holds
from titer.events.storage import load_events, save_events
from titer.graph.history import History
from titer.models.base import Model

TINY = EventConfig(
    num_rows=500, min_batches=2, epochs=1, num_queries=16, new_per_query=3, new_steps=5, calibration_steps=2
)

pytestmark = pytest.mark.slow  # an event model is trained first


def forecast(events: EventModel, model: Model, history: History, time: int, first: int = 1, last: int = 7) -> EventList:
    return events.forecast(events.indexed(history).index, events.origin(model, history, time), first, last)


def by_key(found: EventList) -> dict[tuple[int, ...], tuple[float, ...]]:
    triples = found.triples
    names = zip(triples.subject.tolist(), triples.relation.tolist(), triples.object.tolist(), strict=True)
    values = zip(found.probability.tolist(), found.expected.tolist(), found.still_holds.tolist(), strict=True)
    return dict(zip(names, values, strict=True))


@settings(max_examples=5, deadline=None)
@given(st.integers(100, 170), st.integers(0, 10_000))
def test_facts_at_or_after_the_first_step_do_not_change_a_forecast(
    events: EventModel, model: Model, world_data: Dataset, time: int, seed: int
):
    facts = world_data.facts
    generator = torch.Generator().manual_seed(seed)
    number = int((facts.time >= time).sum())
    order = torch.randperm(number, generator=generator).numpy()
    later = facts[facts.time >= time]
    # The same times with the entities and relations of other facts, and some facts twice.
    changed = Facts(later.subject[order], later.relation[order[::-1]], later.object, later.time)
    found = [
        by_key(forecast(events, model, History(known, world_data.vocabulary), time))
        for known in (facts, facts.before(time), Facts.concatenate(facts.before(time), changed))
    ]
    assert found[0].keys() == found[1].keys() == found[2].keys()
    for key, values in found[0].items():
        assert values == pytest.approx(found[1][key], abs=1e-5)
        assert values == pytest.approx(found[2][key], abs=1e-5)


def test_the_test_split_does_not_change_the_trained_model(world_data: Dataset, model: Model):
    other = replace(world_data, test=world_data.test[::-1][: len(world_data.test) // 2])
    states = [
        EventModel(data.vocabulary, data.axis, TINY).fit(data, model).state_dict() for data in (world_data, other)
    ]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_a_fact_that_ended_no_longer_holds_where_it_may_hold_again():
    found = still_holds([torch.tensor([0.9, 0.5]), torch.tensor([0.2, 0.4]), torch.tensor([0.3, 0.4])])
    assert torch.equal(torch.stack(found), torch.tensor([[0.9, 0.5], [0.2, 0.4], [0.2, 0.4]]))


def test_longer_windows_are_at_least_as_likely(events: EventModel, model: Model, world_data: Dataset):
    history = History(world_data.facts, world_data.vocabulary)
    shorter, longer = (forecast(events, model, history, 160, last=last).probability for last in (3, 9))
    assert bool((longer >= shorter - 1e-6).all())


def test_probabilities_and_expected_counts_are_possible(events: EventModel, model: Model, world_data: Dataset):
    found = forecast(events, model, History(world_data.facts, world_data.vocabulary), 170)
    for values in (found.probability, found.still_holds):
        assert bool(((values >= 0) & (values <= 1)).all())
    assert bool(((found.expected >= 0) & (found.expected <= 7)).all())
    assert bool((found.expected >= found.probability - 1e-6).all())  # happening at all counts at least once
    assert found.unlisted >= 0


def test_listed_new_facts_never_occurred_before(events: EventModel, model: Model, world_data: Dataset):
    history = History(world_data.facts, world_data.vocabulary)
    found = forecast(events, model, history, 150)
    past = {fact[:3] for fact in world_data.facts.before(150)}
    repeated = dict(zip(by_key(found), found.repeated.tolist(), strict=True))
    new, known = ({key for key, is_known in repeated.items() if is_known == wanted} for wanted in (False, True))
    assert new
    assert not new & past
    assert known == past


def test_a_stored_model_forecasts_the_same(events: EventModel, model: Model, world_data: Dataset, tmp_path: Path):
    save_events(events, tmp_path / "events.safetensors")
    loaded = load_events(tmp_path / "events.safetensors", world_data.vocabulary, world_data.axis)
    history = History(world_data.facts, world_data.vocabulary)
    assert torch.equal(
        forecast(events, model, history, 160).probability, forecast(loaded, model, history, 160).probability
    )


def test_a_damaged_file_is_an_error(world_data: Dataset, tmp_path: Path):
    (tmp_path / "events.safetensors").write_bytes(b"no model")
    with pytest.raises(RunError, match="delete it to train event forecasts again"):
        load_events(tmp_path / "events.safetensors", world_data.vocabulary, world_data.axis)


def test_an_event_model_of_another_version_is_refused(
    events: EventModel, world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events.safetensors"
    monkeypatch.setattr("titer.events.storage.FORMAT", 1)
    save_events(events, path)
    monkeypatch.undo()
    with pytest.raises(RunError, match="another version of titer; delete it"):
        load_events(path, world_data.vocabulary, world_data.axis)


def test_a_history_may_have_entities_that_training_did_not(events: EventModel, model: Model, world_data: Dataset):
    known = world_data.vocabulary
    grown = Vocabulary([*known.entities, "Newland"], known.relations)
    added = Facts.from_rows([(known.num_entities, 0, 1, 180)])
    history = History(world_data.facts, known).including(added, grown)
    found = by_key(forecast(events, model, history, 181))
    assert (known.num_entities, 0, 1) in found


def test_an_evaluation_has_the_model_and_all_baselines(events: EventModel, model: Model, world_data: Dataset):
    found = evaluate_events(events, model, world_data, "valid", 7, quiet=True)
    names = ["titer", "all-time rate", "last-30-steps rate", "mean of rates", "Poisson regression on counts"]
    assert list(found.at_step) == list(found.in_window) == list(found.waiting) == names
    steps = {int(time) for time in world_data.valid.time}
    assert found.at_step["titer"].events == sum(1 for _ in {tuple(fact) for fact in world_data.valid})
    assert found.at_step["titer"].steps == len(steps)
    assert found.at_step["all-time rate"].brier_skill == pytest.approx(0, abs=1e-6)


def test_an_evaluation_until_a_step_is_that_of_a_split_that_ends_there(
    events: EventModel, model: Model, world_data: Dataset
):
    valid = world_data.valid
    until = int(valid.time.max()) - 6
    shorter = replace(world_data, valid=valid[valid.time <= until])
    found = evaluate_events(events, model, world_data, "valid", 3, until=until, quiet=True)
    expected = evaluate_events(events, model, shorter, "valid", 3, quiet=True)
    assert found.at_step == expected.at_step
    assert found.in_window == expected.in_window
    assert found.waiting == expected.waiting
    assert found.to_dict()["until"] == until
    with pytest.raises(DataError, match="begins at"):
        evaluate_events(events, model, world_data, "valid", until=int(valid.time.min()) - 1)


@pytest.mark.parametrize(("numbers", "expected"), [((9, 9, 9), False), ((40, 60, 5), False), ((40, 60, 4), True)])
def test_a_last_step_with_far_fewer_facts_than_others_seems_incomplete(numbers: tuple[int, ...], expected: bool):
    times = [time for time, number in enumerate(numbers) for _ in range(number)]
    assert seems_incomplete(Facts.from_rows([(0, 0, 1, time) for time in times])) == expected
    assert not seems_incomplete(Facts.from_rows([(0, 0, 1, time) for time in times if time < 2]))


def test_a_window_is_forecast_once_and_filters_use_it(events: EventModel, model: Model, world_data: Dataset):
    history = History(world_data.facts, world_data.vocabulary)
    index, origin = events.indexed(history).index, events.origin(model, history, 150)
    rows = torch.tensor([3, 1, len(origin.repeated) + 2])
    before = events.forecast(index, origin, 1, 5, rows)
    whole = events.forecast(index, origin, 1, 5)
    assert events.forecast(index, origin, 1, 5) is whole
    filtered = events.forecast(index, origin, 1, 5, rows.sort().values)
    assert torch.allclose(filtered.probability, before.probability[torch.tensor([1, 0, 2])], atol=1e-5)
    assert torch.equal(filtered.triples.subject, whole.triples.subject[rows.sort().values])
