"""Scores of given candidates against those of all entities."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.dense_path_mixture import dense_scores
from models.small_path_mixture import KINDS, random_model
from strategies import LAST_TIME, Graph, graphs
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED


@pytest.mark.slow
@given(graph=graphs(), time=st.integers(-2, LAST_TIME), without=st.sets(st.sampled_from(KINDS)), data=st.data())
def test_candidates_have_the_probabilities_of_all_scores_given_that_one_of_them_is_the_answer(
    graph: Graph, time: int, without: set[str], data: st.DataObject
):
    model = random_model(graph.vocabulary, graph.facts, **dict.fromkeys(without, False)).eval()
    old = graph.vocabulary.num_entities
    larger = Vocabulary([*graph.vocabulary.entities, "Added later"], graph.vocabulary.relations)
    history = History(Facts.concatenate(graph.facts, Facts.from_rows([(0, 0, old, time + 1)])), larger)
    entities = torch.arange(old)
    queries = Queries(entities, torch.zeros_like(entities), torch.where(entities % 2 == 0, time, time + 1))
    size = data.draw(st.integers(1, larger.num_entities))
    chosen = [data.draw(st.permutations(range(larger.num_entities)))[:size] for _ in entities]
    candidates = torch.tensor([[*each, each[0]] for each in chosen])  # the first one twice
    with torch.inference_mode():
        found = model.score_candidates(queries, candidates, history)
        whole = dense_scores(model, queries, history).gather(1, candidates)
    expected = whole - torch.logsumexp(whole, dim=1, keepdim=True).clamp(min=-1e30)
    torch.testing.assert_close(found.exp(), expected.exp(), rtol=1e-4, atol=1e-5)
    assert torch.equal(found == UNREACHED, whole == UNREACHED)


@pytest.mark.parametrize("num_queries", [1, 40])
def test_few_and_many_candidates_of_the_small_world_have_the_probabilities_of_all_scores(
    num_queries: int, world_data: Dataset
):
    model = random_model(world_data.vocabulary, world_data.train).eval()
    history = History(world_data.facts, world_data.vocabulary)
    queries = Queries.from_facts(world_data.test[world_data.test.time == world_data.test.time.max()], model.vocabulary)[
        0
    ]
    queries = queries[torch.arange(num_queries) % len(queries)]
    # The states of all entities are kept only if there are many candidates.
    generator = torch.Generator().manual_seed(0)
    candidates = torch.randint(model.vocabulary.num_entities, (num_queries, 6), generator=generator)
    with torch.inference_mode():
        found = model.score_candidates(queries, candidates, history)
        expected = dense_scores(model, queries, history).gather(1, candidates).log_softmax(dim=1)
    assert 12 < model.vocabulary.num_entities < 480
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
