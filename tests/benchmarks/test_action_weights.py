import pytest
import torch

from action_weights import KINDS, Spread, with_weights
from titer.models.titer.decide import Candidates, Scoring, score_actions


@pytest.fixture
def decision() -> tuple[Candidates, Scoring]:
    torch.manual_seed(0)
    mask = torch.tensor([[True, True, True], [True, True, False], [True, False, False]])
    rows, relations, lags = (torch.randint(0, 4, (3, 3)) for _ in range(3))
    entity, relation, encoding = torch.randn(4, 5), torch.randn(4, 2), torch.randn(4, 3)
    of_actions = torch.randn(5), torch.randn(2), torch.randn(3)
    scoring = Scoring(torch.randn(3, 8), torch.randn(3, 2), torch.randn(3), entity, relation, encoding, *of_actions)
    return Candidates(rows, relations, lags, mask), scoring


def test_weights_that_do_not_depend_on_the_action_are_their_own_mean(decision: tuple[Candidates, Scoring]):
    candidates, scoring = decision
    scoring = scoring._replace(w_entity=torch.zeros(5), w_relation=torch.zeros(2), w_time=torch.zeros(3))
    expected = score_actions(candidates, scoring, weighted=True)
    found = with_weights("mean of each decision", Spread())(candidates, scoring, weighted=True)
    torch.testing.assert_close(found.phi, expected.phi)


def test_the_mean_is_over_the_actions_that_exist(decision: tuple[Candidates, Scoring]):
    candidates, scoring = decision
    beta = score_actions(candidates, scoring, weighted=True).beta
    found = with_weights("mean of each decision", Spread())(candidates, scoring, weighted=True)
    expected = [float(beta[0].mean()), float(beta[1, :2].mean()), float(beta[2, 0])]
    assert found.beta[:, 0].tolist() == pytest.approx(expected)
    assert found.phi.isinf().tolist() == (~candidates.mask).tolist()


def test_the_learned_weights_stay_and_are_counted(decision: tuple[Candidates, Scoring]):
    candidates, scoring = decision
    spread, expected = Spread(), score_actions(candidates, scoring, weighted=True)
    assert torch.equal(with_weights(KINDS[0], spread)(candidates, scoring, weighted=True).phi, expected.phi)
    deviations = [float(expected.beta[0].std(correction=0)), float(expected.beta[1, :2].std(correction=0))]
    assert spread.to_dict()["mean"] == pytest.approx(float(expected.beta[candidates.mask].mean()))
    assert spread.to_dict()["deviation"] == pytest.approx(sum(deviations) / 2)


def test_half_is_what_training_without_weights_uses(decision: tuple[Candidates, Scoring]):
    candidates, scoring = decision
    found = with_weights("0.5", Spread())(candidates, scoring, weighted=True)
    assert torch.equal(found.phi, score_actions(candidates, scoring, weighted=False).phi)
