"""Corrections from how the forecasts of the last steps turned out."""

import pytest
import torch
from torch import Tensor

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.events.drift import Correction, Drift
from titer.events.index import EventIndex
from titer.events.network import IntensityNetwork
from titer.graph.history import History

LIKELY = 1.0
"""Log intensity of all facts: a probability of 93 %."""


class Constant(IntensityNetwork):
    """A network that gives every fact the same intensity."""

    def forward(self, code: Tensor, relation: Tensor, recalled: Tensor, target: Tensor) -> Tensor:
        return torch.full((len(code), 2), LIKELY)


def drift_of(rows: list[tuple[int, int, int, int]], entities: int) -> Drift:
    vocabulary = Vocabulary([f"e{number}" for number in range(entities)], ["r", "q"])
    return Drift(EventIndex(History(Facts.from_rows(rows), vocabulary), TimeAxis(TimeUnit.INTEGER, 0, 1)), 20)


def probability(correction: Correction, relation: int = 0) -> float:
    found = correction(torch.full((1, 2), LIKELY), torch.tensor([relation]))
    return float(-torch.expm1(-torch.exp(found[0, 0])))


def assert_equal(first: Correction, second: Correction) -> None:
    assert torch.allclose(first.map, second.map, atol=1e-5)
    assert torch.allclose(first.shift, second.shift, atol=1e-5)


def test_probabilities_follow_what_happened():
    # All facts occur at step 0, and every other one in the step after.
    rows = [(fact, 0, fact + 1, step) for step in (0, 1) for fact in range(2000) if step == 0 or fact % 2]
    first, second = (drift_of(rows, 2001).before([Constant(2)], elapsed) for elapsed in (1, 2))
    assert probability(first) == pytest.approx(0.934, abs=1e-3)  # nothing precedes the first step
    assert probability(second) == pytest.approx(0.5, abs=0.02)


def test_each_relation_follows_its_own_facts():
    # Those of the second relation all happen again, those of the first never do.
    rows = [(fact, fact % 2, fact + 1, step) for step in (0, 1) for fact in range(2000) if step == 0 or fact % 2]
    correction = drift_of(rows, 2001).before([Constant(2)], 2)
    assert probability(correction, 0) < 0.2
    assert probability(correction, 1) > 0.9


def test_nothing_that_happens_again_changes_nothing():
    rows = [(2 * step, 0, 2 * step + 1, step) for step in range(4)]
    for elapsed in range(5):
        found = drift_of(rows, 8).before([Constant(2)], elapsed)
        assert 0.8 < probability(found) < 0.95


def test_few_outcomes_change_less():
    rows = [(fact, 0, fact + 1, step) for step in (0, 1) for fact in range(6) if step == 0 or fact % 2]
    found = probability(drift_of(rows, 7).before([Constant(2)], 2))
    assert 0.65 < found < 0.92


def test_steps_after_the_end_of_the_data_are_no_outcomes():
    rows = [(fact, 0, fact + 1, step) for step in range(4) for fact in range(500)]
    drift = drift_of(rows, 501)
    now, later = (drift.before([Constant(2)], elapsed) for elapsed in (4, 40))
    assert probability(now) == pytest.approx(probability(later), abs=1e-6)


@pytest.mark.parametrize("elapsed", [0, 1, 60, 150])
def test_facts_at_or_after_the_first_step_do_not_change_the_correction(world_data: Dataset, elapsed: int):
    facts, vocabulary = world_data.facts, world_data.vocabulary
    later = facts[facts.time >= elapsed]
    changed = Facts(later.subject[::-1], later.relation, later.object[::-1], later.time)
    torch.manual_seed(0)
    networks = [IntensityNetwork(vocabulary.num_relations).eval()]
    first, *others = (
        Drift(EventIndex(History(known, vocabulary), world_data.axis), 20).before(networks, elapsed)
        for known in (facts, facts.before(max(elapsed, 1)), Facts.concatenate(facts.before(elapsed), changed))
    )
    for other in others:
        assert_equal(first, other)


def test_the_order_of_questions_does_not_matter(world_data: Dataset):
    vocabulary = world_data.vocabulary
    torch.manual_seed(0)
    networks = [IntensityNetwork(vocabulary.num_relations).eval()]
    index = EventIndex(History(world_data.facts, vocabulary), world_data.axis)
    kept = Drift(index, 20)
    for elapsed in (100, 101, 90):
        assert_equal(kept.before(networks, elapsed), Drift(index, 20).before(networks, elapsed))
