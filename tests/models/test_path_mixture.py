import math
from typing import Any, ClassVar

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.cases import ModelCase
from models.dense_path_mixture import dense_log_weight
from strategies import LAST_TIME, Graph, directed_edges, graphs
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import ConfigError
from titer.graph.decayed_counts import HORIZONS
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.evidence import Edge
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.direct import Direct
from titer.models.path_mixture.fit import Fit
from titer.models.path_mixture.mixture import Mixture
from titer.models.path_mixture.model import FREQUENCY, PRIOR, PathMixture
from titer.models.path_mixture.names import phrases_of, words_of
from titer.models.path_mixture.path_plans import NUM_KNOTS, Knots
from titer.models.path_mixture.paths import of_age
from titer.models.path_mixture.query_batch import QueryBatch

SMALL: dict[str, Any] = {"dim": 8, "relation_dim": 8, "hidden_dim": 8, "rank": 4, "first_edges": 8, "second_edges": 8}


class TestPathMixture(ModelCase):
    name = "path_mixture"
    settings: ClassVar = {**SMALL, "dim": 16}
    training: ClassVar = {"epochs": 2, "batch_size": 32, "learning_rate": 0.005, "learning_rate_schedule": "triangle"}
    least_mrr = 0.8
    shares_sum_to_one = True


class TestSeveralMembers(ModelCase):
    name = "path_mixture"
    settings: ClassVar = {**SMALL, "members": 2}
    training: ClassVar = {"epochs": 1, "batch_size": 32, "learning_rate": 0.005}
    least_mrr = 0.5
    shares_sum_to_one = True


def mixture(graph: Graph, **settings) -> PathMixture:
    torch.manual_seed(0)
    model = PathMixture(graph.vocabulary, TimeAxis(), PathMixtureConfig(**{**SMALL, **settings})).eval()
    with torch.no_grad():  # equal weights would hide a mix-up
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


@pytest.mark.slow
@given(graph=graphs(), time=st.integers(-2, LAST_TIME), seed=st.integers(0, 9))
def test_scores_are_log_probabilities(graph: Graph, time: int, seed: int):
    model = mixture(graph, members=2)
    query = Queries.one(seed % graph.vocabulary.num_entities, seed % graph.vocabulary.num_directed_relations, time)
    with torch.inference_mode():
        probability = model.score(query, History(graph.facts, graph.vocabulary)).exp()
    assert float(probability.sum()) == pytest.approx(1, abs=1e-4)


def fit_of(model: PathMixture) -> Fit:
    only = model.mixtures[0]
    assert isinstance(only, Mixture)
    assert only.prior.fit is not None
    return only.prior.fit


KINDS = ("direct", "two_hops", "same_relation", "trust", "prior")


@pytest.mark.slow
@given(
    graph=graphs(),
    time=st.integers(-2, LAST_TIME),
    seed=st.integers(0, 9),
    members=st.integers(1, 2),
    without=st.sets(st.sampled_from(KINDS)),
)
def test_shares_of_all_evidence_sum_to_one(graph: Graph, time: int, seed: int, members: int, without: set[str]):
    model = mixture(graph, members=members, **dict.fromkeys(without, False))
    history = History(graph.facts, graph.vocabulary)
    query = Queries.one(seed % graph.vocabulary.num_entities, seed % graph.vocabulary.num_directed_relations, time)
    with torch.inference_mode():
        for answer in range(graph.vocabulary.num_entities):
            evidence = model.explain(query, answer, history, limit=1_000_000)
            assert sum(item.share for item in evidence) == pytest.approx(1, abs=1e-4)
            assert all(item.share > 0 for item in evidence)


@pytest.mark.slow
@given(graph=graphs(), time=st.integers(-2, LAST_TIME))
def test_the_weight_of_a_series_is_the_sum_over_its_facts(graph: Graph, time: int):
    model = mixture(graph, two_hops=False, same_relation=False, trust=False)
    only = model.mixtures[0]
    assert isinstance(only, Mixture)
    history = History(graph.facts, graph.vocabulary)
    entities = torch.arange(graph.vocabulary.num_entities)
    with torch.inference_mode():
        batch = QueryBatch(entities, torch.zeros_like(entities), time, history)
        weights = only(only.plan(batch, torch.ones(len(entities), dtype=torch.bool)))
        found = torch.zeros(len(entities), len(entities))
        found[weights.row, history.pair_index.by_first[weights.column]] = weights.paths
        for s in entities.tolist():
            one = QueryBatch(entities[s : s + 1], torch.zeros(1, dtype=torch.int64), time, history)
            for o in entities.tolist():
                (single,) = model._direct(only, one, o)
                assert float(found[s, o]) == pytest.approx(float(single.weight.sum()), rel=1e-3, abs=1e-6)


@pytest.mark.slow
@given(graph=graphs(), time=st.integers(-2, LAST_TIME), seed=st.integers(0, 9))
def test_shares_sum_to_one_for_very_small_weights(graph: Graph, time: int, seed: int):
    model = mixture(graph)
    only = model.mixtures[0]
    assert isinstance(only, Mixture)
    with torch.no_grad():  # path weights below TINY, and priors that underflow
        assert only.direct is not None
        only.direct.pair.weight.sub_(60)
        for kind in only.longer:
            for name in ("second_bias", "bias"):
                if hasattr(kind, name):
                    getattr(kind, name).weight.sub_(60)
        only.prior.frequency.never.weight.fill_(-200)
    history = History(graph.facts, graph.vocabulary)
    query = Queries.one(seed % graph.vocabulary.num_entities, seed % graph.vocabulary.num_directed_relations, time)
    with torch.inference_mode():
        for answer in range(graph.vocabulary.num_entities):
            evidence = model.explain(query, answer, history, limit=1_000_000)
            assert sum(item.share for item in evidence) == pytest.approx(1, abs=1e-4)


def found_paths(model: PathMixture, query: Queries, graph: Graph) -> set[tuple[Edge, ...]]:
    """The paths of all evidence for all answers."""
    history, entities = History(graph.facts, graph.vocabulary), range(graph.vocabulary.num_entities)
    with torch.inference_mode():
        evidence = [item for answer in entities for item in model.explain(query, answer, history, 1_000_000)]
    return {item.path for item in evidence if item.path}


@pytest.mark.slow
@given(graph=graphs(max_facts=20), time=st.integers(-2, LAST_TIME), seed=st.integers(0, 9))
def test_all_paths_of_two_hops_count(graph: Graph, time: int, seed: int):
    model = mixture(graph, direct=False, same_relation=False, first_edges=40, second_edges=40)
    subject = seed % graph.vocabulary.num_entities
    edges = [Edge(*edge) for edge in directed_edges(graph.facts.before(time), graph.vocabulary)]
    expected = {
        (first, second)
        for first in edges
        for second in edges
        if first.subject == subject and second.subject == first.object and second.object != subject
    }
    assert found_paths(model, Queries.one(subject, 0, time), graph) == expected


@pytest.mark.slow
@given(graph=graphs(max_facts=20), time=st.integers(-2, LAST_TIME), seed=st.integers(0, 9))
def test_paths_of_the_same_relation_use_the_latest_fact_of_each_series(graph: Graph, time: int, seed: int):
    model = mixture(graph, direct=False, two_hops=False, first_edges=40, same_edges=40)
    subject = seed % graph.vocabulary.num_entities
    relation = seed % graph.vocabulary.num_directed_relations
    edges = sorted(directed_edges(graph.facts.before(time), graph.vocabulary), key=lambda edge: edge[3])
    latest = [Edge(*kind, t) for kind, t in {(s, r, o): t for s, r, o, t in edges}.items()]
    there = [edge for edge in latest if edge.relation == relation]
    back = [edge for edge in latest if edge.relation == graph.vocabulary.inverse(relation)]
    two = {
        (Edge(*first), second)
        for first in edges
        for second in there
        if first[0] == subject and first[2] == second.subject and second.object != subject
    }
    three = {
        (first, second, third)
        for first in there
        for second in back
        for third in there
        if first.subject == subject and first.object == second.subject and second.object == third.subject
        if second.object != subject and third.object != first.object
    }
    assert found_paths(model, Queries.one(subject, relation, time), graph) == two | three


def test_each_kind_of_path_reaches_what_only_it_can_reach():
    # 0 —0→ 1 —1→ 2: two hops.  0 —0→ 1 ←0— 3 —0→ 4: three hops of one relation.
    vocabulary = Vocabulary.numbered(5, 2)
    facts = Facts.from_rows([(0, 0, 1, 1), (1, 1, 2, 1), (3, 0, 1, 2), (3, 0, 4, 2)])
    history = History(facts, vocabulary)
    query = Queries.one(0, 0, 5)

    def lengths(answer: int, **kinds: bool) -> set[int]:
        settings = {**SMALL, "two_hops": False, "same_relation": False, **kinds}
        model = PathMixture(vocabulary, TimeAxis(), PathMixtureConfig(**settings)).eval()
        return {len(item.path) for item in model.explain(query, answer, history, 100) if item.path}

    with torch.inference_mode():
        assert lengths(1) == {1}
        assert lengths(2) == set()
        assert lengths(2, two_hops=True) == {2}
        assert lengths(4) == set()
        assert 3 in lengths(4, same_relation=True)
        assert lengths(1, direct=False) == set()


def test_the_first_hops_of_a_batch_are_looked_up_once(monkeypatch: pytest.MonkeyPatch):
    vocabulary = Vocabulary.numbered(5, 2)
    history = History(Facts.from_rows([(0, 0, 1, 1), (1, 1, 2, 1), (3, 0, 1, 2), (3, 0, 4, 2)]), vocabulary)
    model = mixture(Graph(Facts.empty(), vocabulary), members=2, prior=False)
    subjects: list[list[int]] = []
    latest = History.latest

    def recorded(self: History, entity: torch.Tensor, *rest: Any, **options: Any) -> Any:
        subjects.append(entity.tolist())
        return latest(self, entity, *rest, **options)

    monkeypatch.setattr(History, "latest", recorded)
    with torch.inference_mode():
        model.score(Queries.one(3, 0, 5), history)
    assert subjects.count([3]) == 1  # for both kinds of paths that begin with them, of both members


def test_the_evidence_for_an_unseen_entity_is_its_fact_and_the_prior():
    settings = PathMixtureConfig(**SMALL, trust=False)
    model = PathMixture(Vocabulary.numbered(3, 1), TimeAxis(), settings).eval()
    history = History(Facts.from_rows([(0, 0, 1, 1), (0, 0, 3, 2)]), Vocabulary.numbered(4, 1))
    query = Queries.one(0, 0, 3)
    with torch.inference_mode():
        evidence = model.explain(query, 3, history)
        only = model.mixtures[0]
        assert isinstance(only, Mixture)
        weights = only(only.plan(QueryBatch(query.subject, query.relation, 3, history), model.trained))
    prior = math.exp(float(weights.matrix[0, int(history.pair_index.rank[3])]))
    # A fact of the query's relation, one time step old: with the initial weights, it counts 1 at each horizon.
    direct = float(len(HORIZONS))
    shares = {item.path: item.share for item in evidence}
    assert shares == pytest.approx(
        {(Edge(0, 0, 3, 2),): direct / (direct + prior), (): prior / (direct + prior)}, rel=1e-4
    )


@pytest.mark.parametrize(("prior", "note"), [(True, PRIOR), (False, FREQUENCY)])
def test_the_note_names_what_remains_of_the_prior(prior: bool, note: str):
    vocabulary = Vocabulary.numbered(3, 1)
    model = PathMixture(vocabulary, TimeAxis(), PathMixtureConfig(**SMALL, prior=prior)).eval()
    history = History(Facts.from_rows([(0, 0, 1, 1)]), vocabulary)
    with torch.inference_mode():
        (only,) = model.explain(Queries.one(0, 0, 3), 2, history)
    assert (only.path, only.note) == ((), note)


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


def test_a_name_has_words_and_phrases():
    assert words_of("Police_(South Sudan)") == ["police", "south", "sudan", "(south sudan)"]
    assert phrases_of("Police_(South Sudan)") == ["police", "(south sudan)"]
    assert phrases_of("Angela Merkel") == ["angela merkel"]


def named(*names: str, **settings) -> tuple[PathMixture, Vocabulary]:
    """A model prepared with facts between all but the last of the entities."""
    vocabulary = Vocabulary(names, ["meet"])
    torch.manual_seed(0)
    model = PathMixture(vocabulary, TimeAxis(), PathMixtureConfig(**{**SMALL, **settings})).eval()
    model.prepare(Facts.from_rows([(i, 0, i + 1, 0) for i in range(len(names) - 2)]), Facts.empty())
    return model, vocabulary


def test_an_unseen_entity_has_the_embeddings_of_the_known_words_in_its_name():
    model, vocabulary = named("Police (Chad)", "Army (Chad)", "Police (Mali)", "Army (Mali)")
    names_part = fit_of(model).names
    assert names_part is not None
    police_chad, army_chad, police_mali, army_mali = names_part(names_part.bags_of(vocabulary).bags(torch.arange(4)))
    torch.testing.assert_close(army_mali - police_mali, army_chad - police_chad)
    assert bool((army_mali != 0).any())


def test_words_that_do_not_occur_in_training_have_no_embedding():
    model, vocabulary = named("Police (Chad)", "Army (Chad)", "Opposition")
    names_part = fit_of(model).names
    assert names_part is not None
    assert bool((names_part(names_part.bags_of(vocabulary).bags(torch.arange(3)))[2] == 0).all())
    larger = Vocabulary([*vocabulary.entities, "Army (Niger)", "Fishermen"], vocabulary.relations)
    bags = names_part.bags_of(larger).bags(torch.tensor([3, 4]))
    assert [bool((row != 0).any()) for row in names_part(bags)] == [True, False]


def test_without_names_the_scores_do_not_depend_on_them():
    history = Facts.from_rows([(0, 0, 1, 0), (1, 0, 2, 1)])
    scores = []
    for names in (("Police (Chad)", "Army (Chad)", "Chad"), ("a", "b", "c")):
        model, vocabulary = named(*names, names=False)
        with torch.inference_mode():
            scores.append(model.score(Queries.one(0, 0, 2), History(history, vocabulary)))
    assert torch.equal(*scores)


def test_a_model_can_be_trained_after_scoring_in_inference_mode():
    model, vocabulary = named("Police (Chad)", "Army (Chad)", "Chad")
    facts = Facts.from_rows([(0, 0, 1, 0), (1, 0, 2, 1)])
    history = History(facts, vocabulary)
    with torch.inference_mode():
        model.score(Queries.one(0, 0, 2), history)
    model.training_step(*Queries.from_facts(facts, vocabulary), history).loss.backward()
