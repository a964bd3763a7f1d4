"""TITer's training step against REINFORCE in plain loops."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.distributions import Dirichlet

from models.titer.by_hand import SMALL, Agent, make_model
from strategies import random_facts
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import ConfigError
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.titer import roll_out as roll_out_module
from titer.models.titer.config import BASELINES, TITerConfig
from titer.models.titer.model import TITer
from titer.models.titer.roll_out import Walks, reference_roll_out
from titer.models.titer.walk import Node

NUM_ENTITIES, NUM_RELATIONS, NUM_STEPS = 5, 2, 12
VOCABULARY = Vocabulary.numbered(NUM_ENTITIES, NUM_RELATIONS)
FACTS = random_facts(3, 60, NUM_ENTITIES, NUM_RELATIONS, NUM_STEPS)


def make(**settings: Any) -> TITer:
    model = make_model(VOCABULARY, **{"num_edges": 3, "num_snapshots": 4, "path_length": 2, **settings})
    model.alpha.copy_(torch.rand(model.alpha.shape) * 3 + 0.2)  # far from uniform
    return model.train()


def batch() -> tuple[Queries, Tensor]:
    """Return queries of several times, the first time included, and their answers."""
    queries, answers = Queries.from_facts(FACTS, VOCABULARY)
    rows = torch.arange(0, len(queries), 9)
    return queries[rows], answers[rows]


@pytest.fixture
def noise(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """Record the Gumbel noise of every decision."""
    drawn: list[Tensor] = []

    def gumbel_noise(like: Tensor) -> Tensor:
        generator = torch.Generator().manual_seed(len(drawn))
        drawn.append(-torch.log(-torch.log(torch.rand(like.shape, generator=generator).clamp(1e-6, 1 - 1e-6))))
        return drawn[-1]

    monkeypatch.setattr(roll_out_module, "gumbel_noise", gumbel_noise)
    return drawn


class ByHand:
    """The walks of a batch, taken with the given noise, and the loss that they give."""

    def __init__(self, model: TITer, queries: Queries, answers: Tensor, noise: list[Tensor]):
        config = model.config
        self.config = config
        self.p = (model.alpha / model.alpha.sum(dim=1, keepdim=True)).tolist()
        self.log_pi: list[list[Tensor]] = []
        self.entropy: list[list[Tensor]] = []
        self.rewards: list[float] = []
        self.hits: list[bool] = []
        for walk in range(len(queries) * config.num_rollouts):
            row = walk // config.num_rollouts
            agent = Agent(model, FACTS, queries[row : row + 1])
            entity, time, state = agent.subject, agent.query_time, agent.start()
            self.log_pi.append([])
            self.entropy.append([])
            for hop in range(config.path_length):
                actions = agent.actions(entity, time, first=hop == 0)
                log_pi, _ = agent.decide(state, actions)
                scores = log_pi.detach().tolist()
                drawn = [scores[i] + float(noise[hop][walk, a.column]) for i, a in enumerate(actions)]
                choice = drawn.index(max(drawn))
                self.log_pi[-1].append(log_pi[choice])
                self.entropy[-1].append(-sum((log.exp() * log for log in log_pi), torch.zeros(())))
                entity, time = actions[choice].object, actions[choice].time
                state = agent.advance(state, actions[choice])
            self.hits.append(entity == int(answers[row]))
            self.rewards.append(self.reward(self.hits[-1], int(queries.relation[row]), agent.query_time - time))

    def reward(self, hit: bool, relation: int, elapsed: int) -> float:
        if not hit:
            return 0.0
        inside = self.config.shaped_reward and 1 <= elapsed <= self.config.num_snapshots
        return 1.0 + (self.p[relation][elapsed - 1] if inside else 0.0)

    def returns(self) -> list[list[float]]:
        hops = self.config.path_length
        return [[reward * self.config.discount ** (hops - 1 - hop) for hop in range(hops)] for reward in self.rewards]

    def advantages(self, average_return: float = 0.0) -> list[list[float]]:
        returns = self.returns()
        every = [value for row in returns for value in row]
        mean = sum(every) / len(every)
        if self.config.baseline == "standardised":
            deviation = math.sqrt(sum((value - mean) ** 2 for value in every) / (len(every) - 1))
            return [[(value - mean) / (deviation + 1e-6) for value in row] for row in returns]
        if self.config.baseline == "moving_average":
            return [[value - average_return for value in row] for row in returns]
        result = []
        for walk, row in enumerate(returns):
            first = walk - walk % self.config.num_rollouts
            others = [other for other in range(first, first + self.config.num_rollouts) if other != walk]
            result.append([value - sum(returns[o][hop] for o in others) / len(others) for hop, value in enumerate(row)])
        return result

    def loss(self, entropy_weight: float, average_return: float = 0.0) -> Tensor:
        total, count = torch.zeros(()), 0
        for advantages, logs, entropies in zip(self.advantages(average_return), self.log_pi, self.entropy, strict=True):
            for advantage, log, entropy in zip(advantages, logs, entropies, strict=True):
                total, count = total - advantage * log - entropy_weight * entropy, count + 1
        return total / count


def gradients(loss: Tensor, model: TITer) -> dict[str, Tensor]:
    names, parameters = zip(*((n, p) for n, p in model.named_parameters() if p.requires_grad), strict=True)
    found = torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)
    return dict(zip(names, found, strict=True))


OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "moving_average": {"baseline": "moving_average"},
    "other_walks": {"baseline": "other_walks", "num_rollouts": 3},
    "rollouts": {"num_rollouts": 2},
    "unshaped": {"shaped_reward": False, "baseline": "moving_average"},
    "near_snapshots": {"num_snapshots": 1, "baseline": "moving_average"},
    "discount": {"discount": 0.5, "baseline": "moving_average"},
    "undiscounted": {"discount": 1.0, "path_length": 3, "baseline": "moving_average"},
    "entropy": {"entropy_weight": 0.7},
    "no_entropy": {"entropy_weight": 0.0},
    "unweighted": {"weighted_scoring": False},
    "static": {"relative_time": False},
    "paper": {**TITerConfig.PRESETS["paper"], "sampled_reward": False},
    "released": {**TITerConfig.PRESETS["released"], "sampled_reward": False},
    "tuned": TITerConfig.PRESETS["tuned"],
}


def test_every_baseline_is_tried():
    tried = {TITerConfig(**options).baseline for options in OPTIONS.values()}
    assert tried == set(BASELINES)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_loss_and_its_gradient_are_those_of_reinforce(options: dict[str, Any], noise: list[Tensor]):
    model = make(**options)
    queries, answers = batch()
    result = model.training_step(queries, answers, History(FACTS, VOCABULARY))
    assert len(noise) == model.config.path_length
    expected = ByHand(model, queries, answers, noise)
    assert 0 < sum(expected.hits) < len(expected.hits)
    loss = expected.loss(model.config.entropy_weight)
    assert float(result.loss.detach()) == pytest.approx(float(loss.detach()), abs=1e-5)
    theirs = gradients(loss, model)
    for name, gradient in gradients(result.loss, model).items():
        torch.testing.assert_close(gradient, theirs[name], rtol=1e-4, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}")
    assert float(result.log["reward"]) == pytest.approx(sum(expected.rewards) / len(expected.rewards), abs=1e-5)
    assert float(result.log["hit"]) == pytest.approx(sum(expected.hits) / len(expected.hits), abs=1e-6)
    every = [float(entropy.detach()) for row in expected.entropy for entropy in row]
    assert float(result.log["entropy"]) == pytest.approx(sum(every) / len(every), abs=1e-5)


def test_every_walk_has_a_dirichlet_sample_of_its_own():
    """The reward of a hit is 1 + p_k, where p is a sample of Dirichlet(α) of the query's relation for every walk."""
    number = 4000
    model = make(sampled_reward=True)
    relation = torch.arange(number) % NUM_RELATIONS
    elapsed = torch.arange(number) // NUM_RELATIONS % 6  # beyond both ends of 1 … K = 4
    queries = Queries(torch.zeros(number, dtype=torch.int64), relation, torch.full((number,), 10))
    node = Node(relation, torch.ones(number, dtype=torch.int64), 10 - elapsed)
    torch.manual_seed(1)
    gain = model._reward(node, queries, torch.ones(number, dtype=torch.int64)) - 1
    assert bool((gain[(elapsed == 0) | (elapsed > 4)] == 0).all())
    samples = Dirichlet(model.alpha).sample(torch.Size([4000]))
    for r in range(NUM_RELATIONS):
        for k in range(1, 5):
            ours, theirs = gain[(relation == r) & (elapsed == k)], samples[:, r, k - 1]
            assert len(ours.unique()) > len(ours) / 2
            deviation = float(theirs.std())
            assert float(ours.mean()) == pytest.approx(float(theirs.mean()), abs=5 * deviation / math.sqrt(len(ours)))
            assert float(ours.std()) == pytest.approx(deviation, rel=0.2)


def test_a_miss_is_not_rewarded_by_a_sample():
    model = make(sampled_reward=True)
    queries = Queries.one(0, 0, 10)
    node = Node(torch.zeros(1), torch.tensor([1]), torch.tensor([9]))
    assert float(model._reward(node, queries, torch.tensor([2]))) == 0


def test_a_moving_average_before_the_standardisation_cancels_out():
    """So the baseline of MINERVA's code, a moving average and then standardised returns, is ``standardised``."""
    torch.manual_seed(0)
    returns = torch.rand(40, 3) * (torch.rand(40, 1) < 0.3)
    average = 0.0
    for _ in range(3):
        less = returns - average
        by_hand = (less - less.mean()) / (less.std() + 1e-6)
        torch.testing.assert_close(make()._advantage(returns), by_hand)
        average += 0.05 * (float(returns.mean()) - average)
    assert average > 0


def test_the_moving_average_follows_the_mean_return_from_batch_to_batch(noise: list[Tensor]):
    model = make(baseline="moving_average", entropy_decay=1.0)
    queries, answers = batch()
    average = 0.0
    for _ in range(4):
        noise.clear()
        torch.testing.assert_close(model.average_return, torch.tensor(average))
        result = model.training_step(queries, answers, History(FACTS, VOCABULARY))
        expected = ByHand(model, queries, answers, noise)
        loss = expected.loss(model.config.entropy_weight, average)
        assert float(result.loss.detach()) == pytest.approx(float(loss.detach()), abs=1e-5)
        every = [value for row in expected.returns() for value in row]
        average += 0.05 * (sum(every) / len(every) - average)
    assert average > 0


@pytest.mark.parametrize("baseline", ["standardised", "other_walks"])
def test_other_baselines_keep_no_average(baseline: str):
    model = make(baseline=baseline, num_rollouts=2)
    queries, answers = batch()
    model.training_step(queries, answers, History(FACTS, VOCABULARY))
    assert float(model.average_return) == 0


def test_the_entropy_weight_decays_after_every_batch(noise: list[Tensor]):
    model = make(entropy_weight=0.5, entropy_decay=0.6, entropy_decays_per="batch")
    queries, answers = batch()
    history = History(FACTS, VOCABULARY)
    for number in range(3):
        model.begin_epoch(number + 1)  # which changes nothing here
        noise.clear()
        result = model.training_step(queries, answers, history)
        loss = ByHand(model, queries, answers, noise).loss(0.5 * 0.6**number)
        assert float(result.loss.detach()) == pytest.approx(float(loss.detach()), abs=1e-5)
        result.loss.backward()  # the decay in place must not disturb the gradient


@pytest.mark.slow
def test_the_entropy_weight_decays_after_every_epoch(noise: list[Tensor]):
    model = make(entropy_weight=0.5, entropy_decay=0.6, entropy_decays_per="epoch")
    queries, answers = batch()
    history = History(FACTS, VOCABULARY)
    for epoch in (1, 2, 5, 3):  # a resumed training begins at any epoch
        model.begin_epoch(epoch)
        for _ in range(2):
            noise.clear()
            result = model.training_step(queries, answers, history)
            loss = ByHand(model, queries, answers, noise).loss(0.5 * 0.6 ** (epoch - 1))
            assert float(result.loss.detach()) == pytest.approx(float(loss.detach()), abs=1e-5)


def test_the_reward_depends_on_how_long_ago_the_answer_was_found():
    model = TITer(Vocabulary.numbered(3, 1), TimeAxis(), TITerConfig(**{**SMALL, "num_snapshots": 2}))
    model.alpha.copy_(torch.tensor([[3.0, 1.0], [1.0, 1.0]]))
    queries = Queries(torch.zeros(5, dtype=torch.int64), torch.zeros(5, dtype=torch.int64), torch.full((5,), 10))
    node = Node(torch.zeros(5), torch.tensor([1, 1, 1, 2, 1]), torch.tensor([9, 8, 7, 9, 10]))
    reward = model._reward(node, queries, torch.ones(5, dtype=torch.int64))
    torch.testing.assert_close(reward, torch.tensor([1.75, 1.25, 1.0, 0.0, 1.0]))
    torch.testing.assert_close(model._discounted(reward)[0], 1.75 * torch.tensor([0.95**2, 0.95, 1.0]))


def test_a_walk_may_be_compared_with_the_other_walks_of_its_query():
    config = TITerConfig(**SMALL, baseline="other_walks", num_rollouts=3, path_length=1)
    model = TITer(Vocabulary.numbered(3, 1), TimeAxis(), config)
    hard, easy, hopeless = [0.0, 0.0, 1.5], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]
    advantage = model._advantage(torch.tensor([*hard, *easy, *hopeless])[:, None])
    torch.testing.assert_close(advantage[:, 0], torch.tensor([-0.75, -0.75, 1.5, *[0.0] * 6]))


def test_a_single_walk_cannot_be_compared_with_others():
    with pytest.raises(ConfigError, match="num_rollouts"):
        TITerConfig(baseline="other_walks")


def test_a_batch_of_the_first_time_step_has_a_finite_loss():
    """No query has a past there, so every walk stays at its subject."""
    facts = Facts.from_rows([(0, 0, 1, 0), (2, 1, 3, 0)])
    queries, answers = Queries.from_facts(facts, VOCABULARY)
    result = make().training_step(queries, answers, History(facts, VOCABULARY))
    assert float(result.loss.detach()) == 0
    assert float(result.log["hit"]) == 0


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_several_walks_of_a_query_are_those_of_the_repeated_query(dropout: float):
    model, (queries, _) = make(dropout=dropout), batch()
    history = History(FACTS, VOCABULARY)
    found: list[tuple[Walks, list[Tensor]]] = []
    for asked, num_walks in ((queries, 3), (queries.repeated(3), 1)):
        torch.manual_seed(0)
        walks = reference_roll_out(model.policy, asked, history, num_walks)
        model.zero_grad()
        (walks.log_probability.square().sum() + walks.entropy.sum()).backward()
        found.append((walks, [one.grad.clone() for one in model.parameters() if one.grad is not None]))
    (ours, gradients), (expected, of_expected) = found
    assert all(torch.equal(*columns) for columns in zip(ours.end, expected.end, strict=True))
    of_query = ours.log_probability.view(len(queries), 3, -1)
    assert bool((of_query != of_query[:, :1]).any())
    torch.testing.assert_close(ours[1:], expected[1:])
    torch.testing.assert_close(gradients, of_expected, rtol=1e-4, atol=1e-5)
