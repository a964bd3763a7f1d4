import re
from collections import Counter
from itertools import pairwise, product
from typing import ClassVar

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import titer
from models.cases import ModelCase
from strategies import LAST_TIME, Graph, directed_edges, graphs
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.tlogic.confidence import ConfidenceEstimator
from titer.models.tlogic.config import TLogicConfig
from titer.models.tlogic.edges import EdgeGroups, TrainingEdges
from titer.models.tlogic.model import FALLBACK, TLogic
from titer.models.tlogic.rules import NO_RELATION, RuleForms, rule_text, same_variables
from titer.models.tlogic.walks import WalkSampler

RuleKey = tuple[int, tuple[int, ...], tuple[int, ...]]
"""Head, body and constraints of a rule."""


class TestTLogic(ModelCase):
    name = "tlogic"
    settings: ClassVar = {"num_walks": 50, "num_samples": 100}
    least_mrr = 0.8
    shares_sum_to_one = True


def numbered(key: RuleKey, index: int = 0) -> tuple[int, list[int], list[int], int, int]:
    """Columns of a rule, with some supports."""
    head, body, same = key
    return (
        head,
        [*body, *[NO_RELATION] * (3 - len(body))],
        [*same, *range(len(same), 4)],
        10 + index,
        1 + (7 * index) % 10,
    )


def with_rules(graph: Graph, keys: list[RuleKey], **settings) -> TLogic:
    """A model with given rules, of different confidences."""
    model = TLogic(graph.vocabulary, TimeAxis(), TLogicConfig(**settings))
    rows = [numbered(key, index) for index, key in enumerate(sorted(set(keys)))]
    rows.sort(key=lambda row: (row[0], -row[4] / row[3]))
    columns = [torch.tensor([row[column] for row in rows], dtype=torch.int64) for column in range(5)]
    model.head, model.body_support, model.rule_support = columns[0], columns[3], columns[4]
    model.body, model.same = columns[1].view(-1, 3), columns[2].view(-1, 4)
    return model.eval()


def groundings(
    edges: list[tuple[int, int, int, int]], subject: int, body: list[int], same: list[int], earliest: int, before: int
) -> list[tuple[tuple[int, int, int, int], ...]]:
    """Oracle: all chains of edges that follow a body, by enumeration."""
    chains: list[tuple[tuple[int, int, int, int], ...]] = [()]
    for relation in body:
        chains = [
            (*chain, edge)
            for chain in chains
            for edge in edges
            if edge[1] == relation
            and edge[0] == (chain[-1][2] if chain else subject)
            and (chain[-1][3] if chain else earliest) <= edge[3] < before
        ]
    found = []
    for chain in chains:
        entities = [subject, *(edge[2] for edge in chain)]
        if all(entities[i] == entities[same[i]] for i in range(len(entities))):
            found.append(chain)
    return found


@st.composite
def graphs_with_rules(draw: st.DrawFn) -> tuple[Graph, list[RuleKey]]:
    graph = draw(graphs(max_facts=25))
    relation = st.integers(0, graph.vocabulary.num_directed_relations - 1)
    keys = []
    for _ in range(draw(st.integers(0, 6))):
        body = tuple(draw(st.lists(relation, min_size=1, max_size=3)))
        names = draw(st.lists(st.integers(0, 3), min_size=len(body) + 1, max_size=len(body) + 1))
        keys.append((draw(relation), body, tuple(names.index(name) for name in names)))
    return graph, keys


def scores_by_hand(model: TLogic, graph: Graph, subject: int, relation: int, time: int) -> dict[int, float]:
    """Oracle: the total of each candidate, by enumeration of all groundings, with the cut after each rule."""
    config = model.config
    edges = directed_edges(graph.facts, graph.vocabulary)
    earliest = time - config.window if config.window else -100
    totals: dict[int, float] = {}
    for rule in range(len(model.head)):
        if int(model.head[rule]) != relation:
            continue
        body = [r for r in model.body[rule].tolist() if r != NO_RELATION]
        firsts: dict[int, int] = {}
        for chain in groundings(edges, subject, body, model.same[rule].tolist(), earliest, time):
            firsts[chain[-1][2]] = max(firsts.get(chain[-1][2], -100), chain[0][3])
        confidence = int(model.rule_support[rule]) / (int(model.body_support[rule]) + config.smoothing)
        for candidate, first in firsts.items():
            share = config.confidence_weight
            score = share * confidence + (1 - share) * np.exp(-config.decay * (time - first))
            totals[candidate] = totals.get(candidate, 0.0) - np.log1p(-min(score, 1 - 1e-6))
        best = sorted(totals.values(), reverse=True)[: config.top_k or None]
        distinct = all(a - b > 1e-6 for a, b in pairwise(best))
        if firsts and config.top_k and len(best) == config.top_k and distinct:
            break
    return totals


@pytest.mark.slow
@given(
    case=graphs_with_rules(),
    time=st.integers(-2, LAST_TIME + 2),
    seed=st.integers(0, 9),
    window=st.integers(0, 5),
    top_k=st.integers(0, 3),
    popularity=st.sampled_from([0.0, 0.001]),
)
def test_rule_application_agrees_with_enumeration(
    case: tuple[Graph, list[RuleKey]], time: int, seed: int, window: int, top_k: int, popularity: float
):
    graph, keys = case
    model = with_rules(graph, keys, window=window, top_k=top_k, smoothing=1.0, popularity_weight=popularity)
    relation = seed % graph.vocabulary.num_directed_relations
    entities = torch.arange(graph.vocabulary.num_entities)
    queries = Queries(entities, torch.full_like(entities, relation), torch.full_like(entities, time))
    history = History(graph.facts, graph.vocabulary)
    scores = model.score(queries, history)
    answers = Counter(o for _, r, o, t in directed_edges(graph.facts, graph.vocabulary) if r == relation and t < time)
    for subject in entities.tolist():
        expected = scores_by_hand(model, graph, subject, relation, time)
        weight = popularity if expected else 1.0
        for answer, count in answers.items() if weight else ():
            expected.setdefault(answer, -np.log1p(-min(weight * count / answers.total(), 1 - 1e-6)))
        found = {entity: float(scores[subject, entity]) for entity in range(len(entities))}
        assert {entity for entity, score in found.items() if score > -torch.inf} == set(expected)
        assert all(found[entity] == pytest.approx(score, rel=1e-3) for entity, score in expected.items())


@pytest.mark.slow
@given(case=graphs_with_rules(), time=st.integers(-2, LAST_TIME + 2), seed=st.integers(0, 9))
def test_evidence_is_the_latest_groundings_of_the_rules_that_apply(
    case: tuple[Graph, list[RuleKey]], time: int, seed: int
):
    graph, keys = case
    model = with_rules(graph, keys, top_k=0)
    edges = directed_edges(graph.facts, graph.vocabulary)
    subject, relation = seed % graph.vocabulary.num_entities, seed % graph.vocabulary.num_directed_relations
    query, history = Queries.one(subject, relation, time), History(graph.facts, graph.vocabulary)
    for answer in range(graph.vocabulary.num_entities):
        expected: Counter[tuple[str, tuple]] = Counter()
        for rule in (model.head == relation).nonzero()[:, 0].tolist():
            body = [r for r in model.body[rule].tolist() if r != NO_RELATION]
            chains = groundings(edges, subject, body, model.same[rule].tolist(), -100, time)
            chains = [chain for chain in chains if chain[-1][2] == answer]
            latest = max((chain[0][3] for chain in chains), default=None)
            # Of the groundings along the same entities, the one with the latest facts from the last to the first.
            best: dict[tuple[int, ...], tuple] = {}
            for chain in chains:
                along = tuple(edge[2] for edge in chain)
                dates = [edge[3] for edge in reversed(chain)]
                if along not in best or dates > [edge[3] for edge in reversed(best[along])]:
                    best[along] = chain
            for chain in best.values():
                if chain[0][3] == latest:
                    expected[(model.describe_rule(rule), chain)] += 1
        evidence = model.explain(query, answer, history, limit=10_000)
        if evidence and not evidence[0].path:
            assert evidence[0].note == FALLBACK
            assert not expected
            continue
        found = Counter((item.note, tuple(tuple(edge) for edge in item.path)) for item in evidence)
        assert found == expected
        for item in evidence:
            dates = [edge.time for edge in item.path]
            assert dates == sorted(dates)
            assert dates[-1] < time


def rule_keys(rules: RuleForms) -> set[RuleKey]:
    found = set()
    for head, body, same in zip(rules.head.tolist(), rules.body.tolist(), rules.same.tolist(), strict=True):
        length = sum(relation != NO_RELATION for relation in body)
        found.add((head, tuple(body[:length]), tuple(same[: length + 1])))
    return found


def rules_of_all_walks(graph: Graph, lengths: tuple[int, ...]) -> set[RuleKey]:
    """Oracle: the rules of all walks that go back in time, never reverse a fact, and return to their beginning."""
    edges = sorted(set(directed_edges(graph.facts, graph.vocabulary)))
    found = set()
    for length in lengths:
        walks = [(edge,) for edge in edges]
        for hop in range(1, length + 1):
            walks = [
                (*walk, edge)
                for walk, edge in product(walks, edges)
                if edge[0] == walk[-1][2]
                and (edge[3] < walk[-1][3] if hop == 1 else edge[3] <= walk[-1][3])
                and (hop == 1 or edge != reverse(walk[-1], graph.vocabulary))
                and (hop < length or edge[2] == walk[0][0])
            ]
        for head, *back in walks:
            body = [reverse(edge, graph.vocabulary) for edge in reversed(back)]
            entities = [body[0][0], *(edge[2] for edge in body)]
            same = tuple(entities.index(entity) for entity in entities)
            found.add((head[1], tuple(edge[1] for edge in body), same))
    return found


def reverse(edge: tuple[int, int, int, int], vocabulary: Vocabulary) -> tuple[int, int, int, int]:
    subject, relation, object, time = edge
    return object, vocabulary.inverse(relation), subject, time


@pytest.mark.slow
@pytest.mark.parametrize("transition", ["exponential", "uniform"])
@given(graph=graphs(max_facts=7), seed=st.integers(0, 99))
def test_rules_are_those_of_the_walks_that_exist(transition: str, graph: Graph, seed: int):
    if len(graph.facts) == 0:
        return
    config = TLogicConfig(num_walks=300, transition=transition)
    edges = TrainingEdges(graph.facts, graph.vocabulary)
    rules = WalkSampler(edges, graph.vocabulary, config).rules(np.random.default_rng(seed))
    expected = rules_of_all_walks(graph, config.rule_lengths)
    assert rule_keys(rules) <= expected
    if transition == "uniform":  # an exponential walk may miss what only old facts lead to
        short = {key for key in expected if len(key[1]) == 1}
        assert short <= rule_keys(rules)


@pytest.mark.slow
@given(graph=graphs(max_facts=5), seed=st.integers(0, 99))
def test_the_confidence_equals_exhaustive_counting(graph: Graph, seed: int):
    keys = sorted(rules_of_all_walks(graph, (1, 2, 3)))[:20]
    if not keys:
        return
    edges = sorted(set(directed_edges(graph.facts, graph.vocabulary)))
    columns = [numbered(key) for key in keys]
    head, body, same = (np.array([row[column] for row in columns]) for column in range(3))
    # So many samples that every grounding of the few facts is among them.
    estimator = ConfidenceEstimator(TrainingEdges(graph.facts, graph.vocabulary), num_samples=8000)
    supports = estimator.supports(RuleForms(head, body, same), np.random.default_rng(seed))
    for (head_relation, relations, variables), body_support, rule_support in zip(keys, *supports, strict=True):
        found = set()
        for start in {edge[0] for edge in edges}:
            found |= set(groundings(edges, start, list(relations), list(range(4)), -100, 100))
        if variables != tuple(range(len(variables))):
            found = {
                chain
                for chain in found
                if variables
                == tuple(same_variables(np.array([[chain[0][0], *(edge[2] for edge in chain)]]))[0])[: len(variables)]
            }
        later = [any(e[:3] == (c[0][0], head_relation, c[-1][2]) and e[3] > c[-1][3] for e in edges) for c in found]
        assert (body_support, rule_support) == (len(found), sum(later))


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_edges_are_drawn_in_proportion_to_their_weights(rate: float):
    times = np.array([0, 3, 4, 6, 6, 6, 7, 2])
    group = np.array([0, 0, 0, 0, 0, 0, 0, 1])
    edges = EdgeGroups(group, times, rate)
    draws, allowed = 40_000, [0, 1, 2, 3, 5]
    any_group, latest, skipped = (np.full(draws, value) for value in (0, 6, 4))
    drawn = edges.draw_up_to(any_group, latest, skipped, np.random.default_rng(0))
    weights = np.exp(rate * (times[allowed] - 6.0))
    counts = np.bincount(drawn, minlength=8)
    assert counts[[4, 6, 7]].sum() == 0
    assert counts[allowed] / draws == pytest.approx(weights / weights.sum(), abs=0.01)


def test_an_edge_however_old_is_drawn_if_it_is_the_only_one():
    edges = EdgeGroups(np.array([0, 0]), np.array([0, 1_000_000]), 1.0)
    drawn = edges.draw_up_to(
        np.array([0, 0, 1]), np.array([1_000_000, -1, 5]), np.array([1, -1, -1]), np.random.default_rng(0)
    )
    assert drawn.tolist() == [0, -1, -1]


def test_the_seed_of_the_training_decides_the_rules(world_data):
    def learned(seed: int) -> list[torch.Tensor]:
        torch.manual_seed(seed)
        model = TLogic(world_data.vocabulary, world_data.axis, TLogicConfig(num_walks=20, num_samples=50))
        model.prepare(world_data.train, world_data.valid)
        return [model.head, model.body, model.same, model.body_support, model.rule_support]

    first, again, other = learned(0), learned(0), learned(1)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[3], other[3])


def test_rules_are_learned_from_the_training_split_alone(world_data):
    def learned(valid: Facts) -> torch.Tensor:
        torch.manual_seed(0)
        model = TLogic(world_data.vocabulary, world_data.axis, TLogicConfig(num_walks=20, num_samples=50))
        model.prepare(world_data.train, valid)
        return model.rule_support

    assert torch.equal(learned(world_data.valid), learned(Facts.empty()))


@pytest.mark.slow
def test_a_forecast_shows_the_facts_and_the_rule_that_they_follow(world_data):
    forecaster = titer.train(world_data, "tlogic", num_walks=50, num_samples=100)
    answer = forecaster.ask("Aldoria", "hold talks with", top=1, explain=3).answers[0]
    assert answer.reasons
    for reason in answer.reasons:
        assert reason.facts
        assert reason.text.startswith(str(reason.facts[0]))
        assert reason.text.endswith(f"(rule: {reason.note})")
        assert re.fullmatch(r"hold talks with\(A, [BCD]\) after .+, in \d+% of [\d,]+ sampled cases", reason.note)


def test_a_rule_in_words_has_inverse_relations_with_swapped_entities():
    vocabulary = Vocabulary(["a"], ["consult", "visit"])
    assert rule_text(0, [3, 0], [0, 1, 0, 3], vocabulary) == "consult(A, A) after visit(B, A), then consult(B, A)"
    assert rule_text(2, [1], [0, 1, 2, 3], vocabulary) == "consult(B, A) after visit(A, B)"
