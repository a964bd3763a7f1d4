"""The agent's parts against plain loops over every walk."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.cases import ModelCase
from strategies import LAST_TIME, Graph, directed_edges, graphs
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import ConfigError
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.titer.config import TITerConfig
from titer.models.titer.model import TITer
from titer.models.titer.policy import PathState
from titer.training.config import Config

SMALL = {
    "entity_dim": 6,
    "time_dim": 4,
    "relation_dim": 5,
    "state_dim": 7,
    "hidden_dim": 8,
    "num_snapshots": 5,
    "inductive_mean": False,
}


class TestTITer(ModelCase):
    name = "titer"
    settings = {"num_edges": 20, "beam_size": 30, "entity_dim": 16, "time_dim": 8, "num_snapshots": 20}  # noqa: RUF012
    training = {"epochs": 6, "learning_rate": 0.01, "batch_size": 128, "validate_every": 3, "device": "cpu"}  # noqa: RUF012
    least_mrr = 0.5
    shares_sum_to_one = True
    least_score = -100.0  # a probability of e^-100


def make(graph: Graph, **settings) -> TITer:
    torch.manual_seed(0)
    return TITer(graph.vocabulary, TimeAxis(), TITerConfig(**{**SMALL, **settings})).eval()


def candidates_by_hand(graph: Graph, entity: int, time: int, asked: int, config: TITerConfig, first: bool):
    """The latest edges, latest first, then the self-loop."""
    edges = [
        (r, o, t)
        for s, r, o, t in directed_edges(graph.facts, graph.vocabulary)
        if s == entity and t < asked and (t < time if config.strictly_back else t <= time)
    ]
    latest = sorted(edges, key=lambda edge: edge[2])[::-1][: config.num_edges]
    loop = [] if first and latest and not config.may_stay_at_first else [(graph.vocabulary.self_loop, entity, time)]
    return latest + loop


def walks_by_hand(model: TITer, graph: Graph, query: Queries) -> dict[int, float]:
    """Every walk of the policy, one after the other; the best log probability of each end."""
    policy, config = model.policy, model.config
    asked = int(query.time)
    e_q = policy.node(policy.entity[query.subject], torch.zeros(1))
    r_q = policy.relation[query.relation]
    zero = torch.zeros(1, config.state_dim)
    start = policy.relation[graph.vocabulary.start][None]
    h_0 = PathState(*policy.lstm(torch.cat([start, e_q], dim=1), (zero, zero)))
    walks = [(0.0, int(query.subject), asked, h_0)]
    for step in range(config.path_length):
        following = []
        for log_p, entity, time, state in walks:
            actions = candidates_by_hand(graph, entity, time, asked, config, step == 0)
            known = torch.cat([state.h, e_q, r_q], dim=1)
            hidden = torch.relu(policy.W_1(known))
            scores = []
            for r, o, t in actions:
                e_n = policy.node(policy.entity[[o]], torch.tensor([asked - t]))
                r_n = policy.relation[[r]]
                beta = torch.sigmoid(policy.W_beta(torch.cat([known, e_n, r_n], dim=1)))
                beta = beta if config.weighted_scoring else torch.tensor(0.5)
                scores.append(beta * (policy.W_e(hidden) * e_n).sum() + (1 - beta) * (policy.W_r(hidden) * r_n).sum())
            log_pi = torch.log_softmax(torch.cat([s.view(1) for s in scores]), dim=0)
            for (r, o, t), log_step in zip(actions, log_pi.tolist(), strict=True):
                e_n = policy.node(policy.entity[[o]], torch.tensor([asked - t]))
                new = PathState(*policy.lstm(torch.cat([policy.relation[[r]], e_n], dim=1), state))
                if config.freeze_state_on_self_loop and r == graph.vocabulary.self_loop:
                    new = state
                following.append((log_p + log_step, o, t, new))
        walks = following
    best: dict[int, float] = {}
    for log_p, entity, _, _ in walks:
        best[entity] = max(best.get(entity, -math.inf), log_p)
    return best


VARIANTS = [
    {},
    {"strictly_back": False, "may_stay_at_first": True, "freeze_state_on_self_loop": True},
    {"weighted_scoring": False, "time_activation": "tanh"},
    {"relative_time": False},
]


@pytest.mark.parametrize("variant", VARIANTS, ids=["default", "paper", "unweighted", "static"])
@given(graph=graphs(max_facts=12), asked=st.integers(-1, LAST_TIME + 1), seed=st.integers(0, 9))
@torch.no_grad()
def test_a_wide_beam_finds_the_best_of_all_walks(variant: dict, graph: Graph, asked: int, seed: int):
    model = make(graph, num_edges=3, beam_size=1000, **variant)
    query = Queries.one(seed % graph.vocabulary.num_entities, seed % graph.vocabulary.num_directed_relations, asked)
    scores = model.score(query, History(graph.facts, graph.vocabulary))[0]
    best = walks_by_hand(model, graph, query)
    for entity in range(graph.vocabulary.num_entities):
        assert float(scores[entity]) == pytest.approx(best.get(entity, -math.inf), abs=1e-4)


@given(graph=graphs(max_facts=30), asked=st.integers(0, LAST_TIME))
@torch.no_grad()
def test_a_narrow_beam_never_claims_more_than_a_wide_one(graph: Graph, asked: int):
    history = History(graph.facts, graph.vocabulary)
    query = Queries.one(0, 0, asked)
    wide = make(graph, num_edges=4, beam_size=500).score(query, history)
    narrow = make(graph, num_edges=4, beam_size=2).score(query, history)
    assert bool((narrow <= wide + 1e-5).all())


@torch.no_grad()
def test_explained_paths_have_the_probability_of_the_answer(world_data):
    model = TITer(world_data.vocabulary, world_data.axis, TITerConfig(num_edges=10, beam_size=50)).eval()
    history = History(world_data.facts, world_data.vocabulary)
    query = Queries.one(0, 0, 150)
    scores = model.score(query, history)[0]
    answer = int(scores.argmax())
    evidence = model.explain(query, answer, history)
    assert evidence
    for item in evidence:
        assert len(item.path) == len(item.numbers)
        for numbers in item.numbers:
            assert 0 <= numbers["probability"] <= 1
            assert 0 < numbers["beta"] < 1


def test_sampled_walks_are_walks(world_data):
    """A rollout only takes edges that exist, back in time, and its probabilities are those of the policy."""
    torch.manual_seed(0)
    model = TITer(world_data.vocabulary, world_data.axis, TITerConfig(num_edges=10))
    history = History(world_data.train, world_data.vocabulary)
    queries, _ = Queries.from_facts(world_data.train[-200:], world_data.vocabulary)
    node, log_probability, entropy = model._roll_out(queries, history)
    assert bool((node.time <= queries.time).all())
    moved = node.entity != queries.subject
    assert bool((node.time[moved] < queries.time[moved]).all())
    assert bool((log_probability <= 0).all())
    assert bool((entropy >= -1e-5).all())
    assert bool((entropy <= math.log(11) + 1e-5).all())


def test_presets_differ_only_in_documented_fields():
    paper = Config.from_dict({"model": {"preset": "paper"}}, "titer").model
    assert paper.freeze_state_on_self_loop
    assert not paper.strictly_back
    assert paper.entropy_decays_per == "epoch"
    mixed = Config.from_dict({"model": {"preset": "paper", "strictly_back": True}}, "titer").model
    assert mixed.strictly_back
    assert mixed.freeze_state_on_self_loop


def test_reward_is_shaped_by_how_long_ago_the_answer_was_found():
    from titer.models.titer.walk import Node

    vocabulary = Vocabulary.numbered(3, 1)
    model = TITer(vocabulary, TimeAxis(), TITerConfig(**{**SMALL, "num_snapshots": 2}))
    model.alpha.copy_(torch.tensor([[3.0, 1.0], [1.0, 1.0]]))
    queries = Queries(torch.zeros(4, dtype=torch.int64), torch.zeros(4, dtype=torch.int64), torch.full((4,), 10))
    node = Node(torch.zeros(4), torch.tensor([1, 1, 1, 2]), torch.tensor([9, 8, 3, 9]))
    reward = model._reward(node, queries, torch.ones(4, dtype=torch.int64))
    torch.testing.assert_close(reward, torch.tensor([1.75, 1.25, 1.0, 0.0]))
    torch.testing.assert_close(model._discounted(reward)[0], 1.75 * torch.tensor([0.95**2, 0.95, 1.0]))


def test_a_walk_may_be_measured_against_the_other_walks_of_its_question():
    config = TITerConfig(**SMALL, baseline="other_walks", num_rollouts=3, path_length=1)
    model = TITer(Vocabulary.numbered(3, 1), TimeAxis(), config)
    hard, easy, hopeless = [0.0, 0.0, 1.5], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]
    advantage = model._advantage(torch.tensor([*hard, *easy, *hopeless])[:, None])
    torch.testing.assert_close(advantage[:, 0], torch.tensor([-0.75, -0.75, 1.5, *[0.0] * 6]))


def test_a_single_walk_has_no_others_to_be_measured_against():
    with pytest.raises(ConfigError, match="num_rollouts"):
        TITerConfig(baseline="other_walks")


@pytest.mark.parametrize("dropout", [-0.1, 1.0])
def test_leaving_out_everything_is_refused(dropout: float):
    with pytest.raises(ConfigError, match=r"model\.dropout"):
        TITerConfig(dropout=dropout)


def test_an_entity_without_any_past_answers_with_itself():
    vocabulary = Vocabulary.numbered(3, 1)
    model = TITer(vocabulary, TimeAxis(), TITerConfig(**SMALL)).eval()
    history = History(Facts.from_rows([(0, 0, 1, 0)]), vocabulary)
    with torch.no_grad():
        scores = model.score(Queries.one(2, 0, 5), history)[0]
    assert scores.tolist() == [-math.inf, -math.inf, pytest.approx(0.0, abs=1e-6)]


@pytest.mark.parametrize("inductive_mean", [False, True])
def test_an_entity_that_came_after_training_is_asked_and_answered(inductive_mean: bool):
    graph = Graph(Facts.from_rows([(0, 0, 1, 1)]), Vocabulary.numbered(2, 1))
    model = make(graph, inductive_mean=inductive_mean)
    later = History(graph.facts, graph.vocabulary).including(Facts.from_rows([(0, 0, 2, 2)]), Vocabulary.numbered(3, 1))
    queries = Queries(torch.tensor([0, 2]), torch.tensor([0, 1]), torch.tensor([3, 3]))
    with torch.inference_mode():
        scores = model.score(queries, later)
    assert scores.shape == (2, 3)
    assert float(scores[0, 2]) > float("-inf")
    assert float(scores[1, 0]) > float("-inf")


@torch.no_grad()
def test_shares_sum_to_one_also_where_probabilities_are_too_small_for_a_number():
    facts = Facts.from_rows([(0, 0, 1, 0), (0, 0, 2, 1), (0, 0, 1, 2), (1, 0, 2, 1), (0, 0, 3, 3), (2, 0, 3, 1)])
    graph, query = Graph(facts, Vocabulary.numbered(4, 1)), Queries.one(0, 0, 5)
    model, history = make(graph), History(facts, graph.vocabulary)
    for parameter in model.policy.parameters():
        parameter.mul_(30)
    scores = model.score(query, history)[0]
    hopeless = torch.nonzero((scores > -math.inf) & (scores < -800))[:, 0].tolist()
    assert hopeless
    for answer in hopeless:
        assert sum(item.share for item in model.explain(query, answer, history)) == pytest.approx(1)
