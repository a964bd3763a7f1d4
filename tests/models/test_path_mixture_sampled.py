"""The loss of the path mixture with a sample of the candidates, and steps that update only what they read."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.dense_path_mixture import dense_loss
from models.small_path_mixture import KINDS, fit_of, gradients, random_model
from strategies import Graph, graphs, random_facts
from titer.data.dataset import Dataset
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.path_mixture.sampled import Sample
from titer.training.gradients import coalesce_gradients
from titer.training.optimisers import EagerAdam


@pytest.mark.slow
@given(graph=graphs(), members=st.integers(1, 2), without=st.sets(st.sampled_from(KINDS)))
def test_a_sample_of_all_candidates_gives_the_exact_loss_and_its_gradients(
    graph: Graph, members: int, without: set[str]
):
    settings = {"label_smoothing": 0.2, "members": members, **dict.fromkeys(without, False)}
    model = random_model(graph.vocabulary, graph.facts, **settings)
    sampling = random_model(graph.vocabulary, graph.facts, exact_entities=0, **settings)
    queries, answers = Queries.from_facts(graph.facts, graph.vocabulary)
    if len(queries) == 0:
        return
    history = History(graph.facts, graph.vocabulary)
    expected = model.training_step(queries, answers, history).loss
    assert sampling.plans(queries, answers, [len(queries)], history) is None
    found = sampling.training_step(queries, answers, history).loss
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    wanted = gradients(model, expected)
    for name, gradient in gradients(sampling, found).items():
        label = lambda message, name=name: f"{name}: {message}"  # noqa: E731
        torch.testing.assert_close(gradient, wanted[name], rtol=2e-3, atol=2e-5, msg=label)


def test_a_sample_estimates_sums_over_all_known_entities():
    vocabulary = Vocabulary.numbered(60, 2)
    facts = random_facts(0, 400, 40, 2, 20)  # a third of the entities has no facts
    history = History(facts, vocabulary)
    one = torch.zeros(1, dtype=torch.int64)
    batch = QueryBatch(one, one, 15, history)
    values = torch.randn(60, dtype=torch.float64)
    known = history.pair_index.by_first[: history.pair_index.num_known(batch.elapsed)]
    torch.manual_seed(0)
    sample = Sample.draw(batch, 200_000)
    assert set(sample.entity.tolist()) == set(known.tolist())
    found = (values[sample.entity] * sample.log_count.double().exp()).sum()
    assert float(found) == pytest.approx(float(values[known].sum()), abs=0.3)
    assert float(sample.log_count.exp().sum()) == pytest.approx(len(known), rel=0.01)


@pytest.mark.slow
def test_training_with_few_sampled_candidates_learns(world_data: Dataset):
    model = random_model(world_data.vocabulary, world_data.train, exact_entities=1, sampled_entities=8).train()
    history = History(world_data.train, world_data.vocabulary)
    queries, answers = Queries.from_facts(world_data.train[-60:], world_data.vocabulary)
    optimiser = EagerAdam(model.parameters(), lr=0.01, fused=True)
    with torch.no_grad():
        before = dense_loss(model, queries, answers, history)
    for _ in range(15):
        optimiser.zero_grad()
        model.training_step(queries, answers, history).loss.backward()
        coalesce_gradients(model.parameters())
        optimiser.step()
    with torch.no_grad():
        assert float(dense_loss(model, queries, answers, history)) < 0.7 * float(before)


def test_a_step_with_sampled_candidates_updates_only_embeddings_that_it_reads(world_data: Dataset):
    vocabulary, train = world_data.vocabulary, world_data.train
    model = random_model(vocabulary, train, exact_entities=1, sampled_entities=2, state_edges=1).train()
    queries, answers = Queries.from_facts(train, vocabulary)
    model.training_step(queries[-2:], answers[-2:], History(train, vocabulary)).loss.backward()
    coalesce_gradients(model.parameters())
    table = fit_of(model).entity.weight
    before = table.detach().clone()
    assert table.grad is not None
    assert table.grad.is_sparse
    EagerAdam(model.parameters(), lr=0.01, weight_decay=0.1, fused=True).step()
    changed = (table != before).any(dim=1).nonzero()[:, 0]
    assert changed.tolist() == table.grad.indices()[0].tolist()
    assert 0 < len(changed) < len(table)
