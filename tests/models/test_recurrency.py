import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.cases import ModelCase
from strategies import LAST_TIME, Graph, directed_edges, graphs
from titer.data.time_axis import TimeAxis
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.recurrency import Recurrency, RecurrencyConfig


class TestRecurrency(ModelCase):
    name = "recurrency"
    least_mrr = 0.8
    shares_sum_to_one = True


@given(graphs(), st.integers(-2, LAST_TIME + 2), st.floats(0.1, 3), st.floats(0.001, 1))
def test_the_score_is_the_formula(graph: Graph, time: int, decay: float, mix: float):
    model = Recurrency(graph.vocabulary, TimeAxis(), RecurrencyConfig(prior=0.01))
    model.decay.fill_(decay)
    model.mix.fill_(mix)
    edges = directed_edges(graph.facts, graph.vocabulary)
    scores = model.score(Queries.one(0, 0, time), History(graph.facts, graph.vocabulary))[0]
    past = [edge for edge in edges if edge[3] < time]
    answers = [o for _, r, o, _ in past if r == 0]
    for entity in range(graph.vocabulary.num_entities):
        links = [(r, t) for s, r, o, t in past if (s, o) == (0, entity)]
        expected = sum((1 if r == 0 else mix) * (time - t) ** -decay for r, t in links)
        expected += 0.01 * answers.count(entity) / max(len(answers), 1)
        assert float(scores[entity]) == (pytest.approx(expected, rel=1e-4) if expected > 0 else float("-inf"))


def test_chosen_parameters_rank_valid_at_least_as_well_as_any_common_choice(world_data):
    model = Recurrency(world_data.vocabulary, world_data.axis, RecurrencyConfig(shrinkage=0))
    model.prepare(world_data.train, world_data.valid)
    settings = [(decay, mix) for decay in model.config.decays for mix in model.config.mixes]
    sums, _ = model._reciprocal_ranks(settings, world_data.train, world_data.valid)
    chosen = [
        settings.index(min(settings, key=lambda s: abs(s[0] - p) + abs(s[1] - m)))
        for p, m in zip(model.decay.tolist(), model.mix.tolist(), strict=True)
    ]
    own = sums[torch.arange(len(sums)), chosen].sum()
    assert bool((own >= sums.sum(dim=0) - 1e-4).all())


def test_the_ranking_on_valid_equals_that_of_evaluate(world_data):
    from titer.evaluation.evaluate import evaluate

    model = Recurrency(world_data.vocabulary, world_data.axis, RecurrencyConfig(prior=0.0))
    sums, counts = model._reciprocal_ranks([(1.0, 0.03)], world_data.train, world_data.valid)
    model.decay.fill_(1.0)
    model.mix.fill_(0.03)
    found = evaluate(model, world_data, "valid")
    reached = found.ranks.reached
    assert float(sums.sum()) == pytest.approx(float((1 / found.ranks_under()[reached]).sum()), rel=1e-4)
    assert int(counts.sum()) == len(found.queries)


def test_the_strongest_evidence_of_a_recurring_fact_is_its_previous_occurrence(world):
    data = world.dataset
    model = Recurrency(data.vocabulary, data.axis)
    model.prepare(data.train, data.valid)
    history = History(data.facts, data.vocabulary)
    facts = list(data.facts)
    rows = [i for i in range(len(facts) - len(data.test), len(facts)) if world.kinds[i] == "recurring"]
    hits = 0
    for row in rows:
        subject, relation, object, time = facts[row]
        edge = model.explain(Queries.one(subject, relation, time), object, history)[0].path[0]
        hits += tuple(edge) in [facts[cause] for cause in world.causes[row]]
    assert hits / len(rows) > 0.95


def test_a_sample_of_the_validation_queries_is_used_if_there_are_more(world_data):
    num_queries = 2 * len(world_data.valid)

    def counted(limit: int) -> tuple[int, torch.Tensor]:
        config = RecurrencyConfig(num_queries=limit, decays=(0.5, 1.0), mixes=(0.03,))
        model = Recurrency(world_data.vocabulary, world_data.axis, config)
        sums, counts = model._reciprocal_ranks([(0.5, 0.03), (1.0, 0.03)], world_data.train, world_data.valid)
        return int(counts.sum()), sums

    assert counted(num_queries)[0] == counted(10 * num_queries)[0] == num_queries
    assert torch.equal(counted(num_queries)[1], counted(10 * num_queries)[1])
    count, sums = counted(100)
    assert count == 100
    assert 0 < float(sums[:, 0].sum()) <= 100
    assert torch.equal(counted(100)[1], sums)
