from typing import ClassVar

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.cases import ModelCase
from models.dense_path_mixture import dense_log_weight
from models.small_path_mixture import SMALL, fit_of, mixture
from strategies import LAST_TIME, Graph, graphs
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import ConfigError
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.direct import Direct
from titer.models.path_mixture.mixture import Mixture
from titer.models.path_mixture.model import PathMixture
from titer.models.path_mixture.path_plans import NUM_KNOTS, Knots
from titer.models.path_mixture.paths import of_age
from titer.models.path_mixture.query_batch import QueryBatch


class TestPathMixture(ModelCase):
    name = "path_mixture"
    settings: ClassVar = {**SMALL, "dim": 16}
    training: ClassVar = {"epochs": 1, "batch_size": 128, "learning_rate": 0.02, "learning_rate_schedule": "triangle"}
    least_mrr = 0.8
    shares_sum_to_one = True


class TestSeveralMembers(ModelCase):
    name = "path_mixture"
    settings: ClassVar = {**SMALL, "members": 2}
    training: ClassVar = {"epochs": 1, "batch_size": 128, "learning_rate": 0.02}
    least_mrr = 0.5
    shares_sum_to_one = True


@pytest.mark.slow
@given(graph=graphs(), time=st.integers(-2, LAST_TIME), seed=st.integers(0, 9))
def test_scores_are_log_probabilities(graph: Graph, time: int, seed: int):
    model = mixture(graph, members=2)
    query = Queries.one(seed % graph.vocabulary.num_entities, seed % graph.vocabulary.num_directed_relations, time)
    with torch.inference_mode():
        probability = model.score(query, History(graph.facts, graph.vocabulary)).exp()
    assert float(probability.sum()) == pytest.approx(1, abs=1e-4)


def test_other_true_answers_are_excluded_from_the_loss():
    vocabulary = Vocabulary.numbered(4, 1)
    both = Facts.from_rows([(0, 0, 1, 1), (0, 0, 1, 2), (0, 0, 2, 2)])
    model = PathMixture(vocabulary, TimeAxis(), PathMixtureConfig(**SMALL, label_smoothing=0.0)).eval()
    history, query, answer = History(both, vocabulary), Queries.one(0, 0, 2), torch.tensor([1])
    model.prepare(both, Facts.empty())
    alone = float(model.training_step(query, answer, history).loss.detach())
    with torch.no_grad():
        probability = model.score(query, history)[0].exp()
    assert alone == pytest.approx(-float(torch.log(probability[1] / (1 - probability[2]))), rel=1e-4)


@pytest.mark.slow
@given(graph=graphs(), time=st.integers(-2, LAST_TIME))
def test_the_forecast_is_the_mean_of_its_members(graph: Graph, time: int):
    model = mixture(graph, members=2)
    history, query = History(graph.facts, graph.vocabulary), Queries.one(0, 0, time)
    with torch.inference_mode():
        batch = QueryBatch(query.subject, query.relation, time, history)
        each = [
            dense_log_weight(member, batch, model.trained).softmax(dim=1)
            for member in model.mixtures
            if isinstance(member, Mixture)
        ]
        torch.testing.assert_close(model.score(query, history).exp(), (each[0] + each[1]) / 2)


@pytest.mark.slow
@given(graph=graphs(), seed=st.integers(0, 9))
def test_embeddings_of_unseen_entities_are_not_used(graph: Graph, seed: int):
    unseen = seed % graph.vocabulary.num_entities
    entities = torch.arange(graph.vocabulary.num_entities)
    query = Queries(entities, torch.zeros_like(entities), torch.full_like(entities, LAST_TIME))
    history = History(graph.facts, graph.vocabulary)
    model = mixture(graph)
    model.trained[unseen] = False
    with torch.no_grad():
        before = model.score(query, history)
        fit_of(model).entity.weight[unseen] += 1
        torch.testing.assert_close(model.score(query, history), before)


@pytest.mark.parametrize(("kind", "part"), [("direct", "direct"), ("trust", "trust"), ("prior", "prior.fit")])
def test_a_part_that_is_switched_off_has_no_parameters(kind: str, part: str):
    graph = Graph(Facts.empty(), Vocabulary.numbered(4, 2))
    names = {name for name, _ in mixture(graph).named_parameters() if f".{part}." in name}
    assert names
    assert not names & {name for name, _ in mixture(graph, **{kind: False}).named_parameters()}


def test_a_training_batch_may_have_several_time_steps():
    vocabulary = Vocabulary.numbered(4, 1)
    facts = Facts.from_rows([(0, 0, 1, 1), (1, 0, 2, 1), (0, 0, 2, 2), (0, 0, 3, 3), (2, 0, 1, 3)])
    model = PathMixture(vocabulary, TimeAxis(), PathMixtureConfig(**SMALL)).eval()
    model.prepare(facts, Facts.empty())
    history = History(facts, vocabulary)
    queries, answers = Queries.from_facts(facts, vocabulary)
    together = model.training_step(queries, answers, history).loss
    each = [model.training_step(queries[i : i + 1], answers[i : i + 1], history).loss for i in range(len(queries))]
    torch.testing.assert_close(together, torch.stack(each).mean())


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_label_smoothing_spreads_a_share_over_all_entities(smoothing: float):
    facts = Facts.from_rows([(0, 0, 1, 0), (1, 1, 2, 1), (0, 0, 3, 2), (3, 1, 4, 3)])
    graph = Graph(facts, Vocabulary.numbered(5, 2))
    model, history = mixture(graph, label_smoothing=smoothing), History(facts, graph.vocabulary)
    query, answer = Queries.one(0, 0, 5), torch.tensor([3])
    model.prepare(facts, Facts.empty())
    with torch.no_grad():
        log_probability = model.score(query, history)[0]
        loss = model.training_step(query, answer, history).loss
    labels = torch.full((5,), smoothing / 5)
    labels[answer] += 1 - smoothing
    torch.testing.assert_close(loss, -(labels * log_probability).sum())


def test_entity_dropout_zeroes_some_embeddings_in_training():
    vocabulary = Vocabulary.numbered(100, 1)
    history = History(Facts.from_rows([(i, 0, (i + 1) % 100, 0) for i in range(100)]), vocabulary)
    model = PathMixture(vocabulary, TimeAxis(), PathMixtureConfig(**SMALL, names=False, entity_dropout=0.5))
    batch = QueryBatch(torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64), 1, history)
    fit = fit_of(model)
    usable = torch.ones(100, dtype=torch.bool)
    torch.manual_seed(0)
    known = torch.arange(100)
    zeroed = (fit.train()._embeddings_of(batch, known, usable) == 0).all(dim=1).sum()
    assert 30 < int(zeroed) < 70
    assert not bool((fit.eval()._embeddings_of(batch, known, usable) == 0).all(dim=1).any())


def test_the_weight_of_a_past_fact_follows_the_formula():
    torch.manual_seed(0)
    direct = Direct(4)
    with torch.no_grad():
        for parameter in direct.parameters():
            parameter.normal_()
    query, past = torch.cartesian_prod(torch.arange(4), torch.arange(4)).unbind(dim=1)
    table = direct.coefficients(torch.arange(4)).view(16, -1)
    for r, other, found in zip(query.tolist(), past.tolist(), table, strict=True):
        weight = direct.pair.weight[r, other] + direct.query.weight[r] + direct.past.weight[other]
        if r == other:
            weight = weight + direct.same + direct.same_at
        torch.testing.assert_close(found, weight.exp())


@pytest.mark.slow
@given(graph=graphs(), time=st.integers(0, LAST_TIME))
def test_the_state_of_an_entity_is_the_mean_of_its_latest_edges(graph: Graph, time: int):
    model = mixture(graph, names=False, state_edges=3)
    fit, only = fit_of(model), model.mixtures[0]
    assert isinstance(only, Mixture)
    history, entities = History(graph.facts, graph.vocabulary), torch.arange(graph.vocabulary.num_entities)
    batch = QueryBatch(entities[:1], entities[:1], time, history)
    edges = history.latest(entities, torch.full_like(entities, time), 3)
    with torch.inference_mode():
        num_known = history.pair_index.num_known(batch.elapsed)
        known = history.pair_index.by_first[:num_known]
        plan = only.prior.plan(batch, torch.ones_like(entities, dtype=torch.bool))
        _, states, _ = fit.describe(plan.entities)
        assert bool((states[num_known] == 0).all())
        for entity, state in zip(known.tolist(), states, strict=False):
            known = edges.mask[entity]
            each = fit.entity(edges.object[entity][known]) + fit.relation(edges.relation[entity][known])
            expected = torch.tanh(fit.state(each.mean(dim=0))) if len(each) else torch.zeros_like(state)
            torch.testing.assert_close(state, expected, rtol=1e-4, atol=1e-5)


def test_a_function_of_age_goes_through_its_knots():
    heights = torch.arange(NUM_KNOTS, dtype=torch.float32).expand(4, -1)
    found = of_age(heights, Knots.of(torch.arange(4), torch.tensor([1, 2, 4, 10**9])))
    assert found.tolist() == pytest.approx([0, 1.2, 2.4, NUM_KNOTS - 1], abs=1e-4)


@pytest.mark.parametrize("settings", [{"members": 0}, {"dim": 0}, {"dropout": 1.0}, {"label_smoothing": -0.1}])
def test_invalid_settings_are_rejected(settings):
    with pytest.raises(ConfigError, match=next(iter(settings))):
        PathMixtureConfig(**settings)
