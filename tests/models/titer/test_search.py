"""The agent's parts against plain loops over every walk."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from models.cases import ModelCase
from models.titer.by_hand import SMALL, Agent, Walk, best_by_hand, make_model
from strategies import LAST_TIME, Graph, directed_edges, graphs
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import ConfigError
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.evidence import Edge
from titer.models.titer.config import TITerConfig
from titer.models.titer.model import TITer
from titer.models.titer.roll_out import reference_roll_out
from titer.models.titer.walk import Actions, Node


class TestTITer(ModelCase):
    name = "titer"
    settings = {  # noqa: RUF012
        "num_edges": 20,
        "beam_size": 30,
        "num_snapshots": 20,
        "entity_dim": 24,
        "time_dim": 8,
        "relation_dim": 32,
        "state_dim": 32,
        "hidden_dim": 32,
    }
    training = {"epochs": 3, "learning_rate": 0.01, "batch_size": 128, "validate_every": 3, "device": "cpu"}  # noqa: RUF012
    least_mrr = 0.5
    shares_sum_to_one = True
    least_score = -100.0  # a probability of e^-100


def make(graph: Graph, **settings) -> TITer:
    return make_model(graph.vocabulary, **settings)


def one_query(graph: Graph, seed: int, time: int) -> Queries:
    return Queries.one(seed % graph.vocabulary.num_entities, seed % graph.vocabulary.num_directed_relations, time)


VARIANTS = [
    {},
    TITerConfig.PRESETS["paper"],
    TITerConfig.PRESETS["released"],
    {"weighted_scoring": False, "time_activation": "tanh", "loop_counts_as_edge": True, "may_stay_at_first": True},
    {"relative_time": False},
]
VARIANT_NAMES = ["default", "paper", "released", "unweighted", "static"]


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS, ids=VARIANT_NAMES)
@given(graph=graphs(max_facts=12), query_time=st.integers(-1, LAST_TIME + 1), seed=st.integers(0, 9))
@torch.no_grad()
def test_a_wide_beam_finds_the_best_of_all_walks(variant: dict, graph: Graph, query_time: int, seed: int):
    model = make(graph, num_edges=3, beam_size=1000, **variant)
    query = one_query(graph, seed, query_time)
    scores = model.score(query, History(graph.facts, graph.vocabulary))[0]
    best = best_by_hand(Agent(model, graph.facts, query).walks())
    for entity in range(graph.vocabulary.num_entities):
        assert float(scores[entity]) == pytest.approx(best.get(entity, -math.inf), abs=1e-4)


@pytest.mark.slow
@given(graph=graphs(max_facts=30), query_time=st.integers(0, LAST_TIME))
@torch.no_grad()
def test_a_narrow_beam_never_scores_higher_than_a_wide_one(graph: Graph, query_time: int):
    history = History(graph.facts, graph.vocabulary)
    query = Queries.one(0, 0, query_time)
    wide = make(graph, num_edges=4, beam_size=500).score(query, history)
    narrow = make(graph, num_edges=4, beam_size=2).score(query, history)
    assert bool((narrow <= wide + 1e-5).all())


@given(graph=graphs(max_facts=20), query_time=st.integers(0, LAST_TIME), beam_size=st.integers(1, 12))
@torch.no_grad()
def test_a_final_beam_keeps_the_most_probable_paths_alone(graph: Graph, query_time: int, beam_size: int):
    history, query = History(graph.facts, graph.vocabulary), Queries.one(0, 0, query_time)
    every = make(graph, num_edges=4, beam_size=beam_size)._search(query, history)[-1]
    model = make(graph, num_edges=4, beam_size=beam_size, final_beam=True)
    final = model._search(query, history)[-1].log_probability.flatten()
    best = every.log_probability.flatten().sort(descending=True).values[:beam_size]
    assert torch.equal(final.sort(descending=True).values[: len(best)], best)
    assert bool((final.sort(descending=True).values[len(best) :] == -math.inf).all())
    reached = {
        int(entity) for entity, total in zip(every.actions.object.flatten(), final, strict=True) if total > -math.inf
    }
    assert {i for i, score in enumerate(model.score(query, history)[0].tolist()) if score > -math.inf} == reached


def path_of(walk: Walk, subject: int, vocabulary: Vocabulary) -> tuple[Edge, ...]:
    """Return the facts of a walk, without its self-loops."""
    path, here = [], subject
    for hop in walk.hops:
        if hop.action.relation != vocabulary.self_loop:
            path.append(Edge(here, hop.action.relation, hop.action.object, hop.action.time))
        here = hop.action.object
    return tuple(path)


def numbers_of(walk: Walk, vocabulary: Vocabulary) -> list[float]:
    """Return π and β of every fact of a walk, one after the other."""
    hops = [hop for hop in walk.hops if hop.action.relation != vocabulary.self_loop]
    return [number for hop in hops for number in (math.exp(hop.log_probability), hop.beta)]


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS[:3], ids=VARIANT_NAMES[:3])
@given(graph=graphs(max_facts=10), query_time=st.integers(-1, LAST_TIME + 1), seed=st.integers(0, 9))
@torch.no_grad()
def test_explained_paths_have_the_probability_of_the_answer(variant: dict, graph: Graph, query_time: int, seed: int):
    """The evidence is all walks to the answer, by their probabilities, and the best of them is the score."""
    model = make(graph, num_edges=3, beam_size=1000, **variant)
    history, query = History(graph.facts, graph.vocabulary), one_query(graph, seed, query_time)
    walks = Agent(model, graph.facts, query).walks()
    scores = model.score(query, history)[0]
    for answer in range(graph.vocabulary.num_entities):
        evidence = model.explain(query, answer, history, limit=10_000)
        to_answer: dict[tuple[Edge, ...], list[Walk]] = {}
        for walk in walks:
            if walk.end == answer:
                to_answer.setdefault(path_of(walk, int(query.subject), graph.vocabulary), []).append(walk)
        assert {item.path for item in evidence} == set(to_answer)
        assert len(evidence) == len(to_answer)
        if not evidence:
            assert float(scores[answer]) == -math.inf
            continue
        best = max(walk.log_probability for same in to_answer.values() for walk in same)
        assert float(scores[answer]) == pytest.approx(best, abs=1e-4)
        total = sum(math.exp(walk.log_probability) for same in to_answer.values() for walk in same)
        for item in evidence:
            same = to_answer[item.path]
            assert item.share * total == pytest.approx(sum(math.exp(w.log_probability) for w in same), rel=1e-3)
            # Where several walks have this path, the numbers are those of the most probable.
            most = max(walk.log_probability for walk in same)
            shown = [numbers[name] for numbers in item.numbers for name in ("probability", "beta")]
            assert any(
                shown == pytest.approx(numbers_of(walk, graph.vocabulary), abs=1e-4)
                for walk in same
                if walk.log_probability > most - 1e-4
            )


@pytest.mark.parametrize("variant", VARIANTS, ids=VARIANT_NAMES)
@pytest.mark.slow
def test_sampled_walks_are_walks(world_data, monkeypatch: pytest.MonkeyPatch, variant: dict):
    """Every hop is an edge before the query's time, or a self-loop, and has the probability of the policy."""
    model = make_model(world_data.vocabulary, num_edges=5, **variant)
    facts = world_data.train
    queries, _ = Queries.from_facts(facts[-600:], world_data.vocabulary)
    queries = queries[::60]
    taken: list[tuple[Node, Tensor]] = []
    reached = Node.reached

    def record(actions: Actions, choice: Tensor) -> Node:
        node = reached(actions, choice)
        taken.append((node, choice))
        return node

    monkeypatch.setattr(Node, "reached", record)
    with torch.no_grad():
        end, log_probability, entropy = reference_roll_out(model.policy, queries, History(facts, world_data.vocabulary))
    assert len(taken) == model.config.path_length
    assert all(torch.equal(ours, last) for ours, last in zip(end, taken[-1][0], strict=True))
    known = set(directed_edges(facts, world_data.vocabulary))
    num_edges_taken = 0
    for i in range(len(queries)):
        agent = Agent(model, facts, queries[i : i + 1])
        here, time, state = agent.subject, agent.query_time, agent.start()
        for hop, (node, choice) in enumerate(taken):
            relation, entity, when = (int(column[i]) for column in node)
            if relation == world_data.vocabulary.self_loop:
                assert (entity, when) == (here, time)
            else:
                num_edges_taken += 1
                assert (here, relation, entity, when) in known
                assert when < agent.query_time
                assert when < time or (when == time and not model.config.strictly_back)
            actions = agent.actions(here, time, first=hop == 0)
            log_pi = agent.decide(state, actions)[0].detach()
            place = [action.column for action in actions].index(int(choice[i]))
            assert actions[place][:3] == (relation, entity, when)
            assert float(log_probability[i, hop]) == pytest.approx(float(log_pi[place]), abs=1e-4)
            assert float(entropy[i, hop]) == pytest.approx(-float((log_pi.exp() * log_pi).sum()), abs=1e-4)
            state, here, time = agent.advance(state, actions[place]), entity, when
    assert num_edges_taken > len(queries)


@pytest.mark.parametrize("dropout", [-0.1, 1.0])
def test_a_dropout_outside_its_range_is_rejected(dropout: float):
    with pytest.raises(ConfigError, match=r"model\.dropout"):
        TITerConfig(dropout=dropout)


def test_an_entity_without_a_past_has_itself_as_its_only_answer():
    vocabulary = Vocabulary.numbered(3, 1)
    model = TITer(vocabulary, TimeAxis(), TITerConfig(**SMALL)).eval()
    history = History(Facts.from_rows([(0, 0, 1, 0)]), vocabulary)
    with torch.no_grad():
        scores = model.score(Queries.one(2, 0, 5), history)[0]
    assert scores.tolist() == [-math.inf, -math.inf, pytest.approx(0.0, abs=1e-6)]


@pytest.mark.parametrize("inductive_mean", [False, True])
def test_an_entity_added_after_training_is_subject_and_answer(inductive_mean: bool):
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
def test_shares_sum_to_one_where_probabilities_underflow():
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
