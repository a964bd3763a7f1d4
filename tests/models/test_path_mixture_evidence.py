"""The evidence of a path mixture: shares of the weight of an answer."""

import math
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.small_path_mixture import SMALL, mixture
from strategies import LAST_TIME, Graph, graphs
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.decayed_counts import HORIZONS
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.evidence import Edge, Evidence
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.mixture import Mixture
from titer.models.path_mixture.model import FREQUENCY, PRIOR, PathMixture
from titer.models.path_mixture.query_batch import QueryBatch

KINDS = ("direct", "two_hops", "same_relation", "trust", "prior")


def evidence_of_all_answers(model: PathMixture, graph: Graph, time: int, seed: int) -> Iterator[list[Evidence]]:
    """Yield the whole evidence for each entity as the answer to one query."""
    history = History(graph.facts, graph.vocabulary)
    query = Queries.one(seed % graph.vocabulary.num_entities, seed % graph.vocabulary.num_directed_relations, time)
    with torch.inference_mode():
        for answer in range(graph.vocabulary.num_entities):
            yield model.explain(query, answer, history, limit=1_000_000)


@pytest.mark.slow
@given(
    graph=graphs(),
    time=st.integers(-2, LAST_TIME),
    seed=st.integers(0, 9),
    members=st.integers(1, 2),
    without=st.sets(st.sampled_from(KINDS)),
    past_edges=st.sampled_from([2, 1000]),
)
def test_shares_of_all_evidence_sum_to_one(
    graph: Graph, time: int, seed: int, members: int, without: set[str], past_edges: int
):
    model = mixture(graph, members=members, past_edges=past_edges, **dict.fromkeys(without, False))
    for evidence in evidence_of_all_answers(model, graph, time, seed):
        assert sum(item.share for item in evidence) == pytest.approx(1, abs=1e-4)
        assert all(item.share > 0 for item in evidence)


@pytest.mark.slow
@given(graph=graphs(), time=st.integers(-2, LAST_TIME), past_edges=st.sampled_from([2, 1000]))
def test_the_weight_of_a_series_is_the_sum_over_its_facts(graph: Graph, time: int, past_edges: int):
    model = mixture(graph, two_hops=False, same_relation=False, trust=False, past_edges=past_edges)
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
    for evidence in evidence_of_all_answers(model, graph, time, seed):
        assert sum(item.share for item in evidence) == pytest.approx(1, abs=1e-4)


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
