from typing import Any, ClassVar

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.cases import ModelCase
from strategies import Graph, directed_edges, graphs
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.common.graph_layers import RelationalConvolution
from titer.models.renet.config import RENetConfig
from titer.models.renet.model import RENet
from titer.models.renet.neighbourhood import Neighbourhood


class TestRENet(ModelCase):
    name = "renet"
    settings: ClassVar = {"dim": 16, "local_steps": 4, "global_steps": 3, "dropout": 0.1}
    training: ClassVar = {
        "epochs": 3,
        "batch_size": 1000,
        "learning_rate": 0.03,
        "learning_rate_schedule": "triangle",
        "recent_steps": 100,
    }
    least_mrr = 0.6
    explains = False


VOCABULARY = Vocabulary.numbered(6, 2)


def scores(facts: list[tuple[int, int, int, int]], **settings: Any) -> torch.Tensor:
    """Return the scores of the query (0, 0, ?, 10)."""
    torch.manual_seed(0)
    config = RENetConfig(**{"dim": 4, "layers": 2, "local_steps": 2, "global_steps": 2, **settings})
    model = RENet(VOCABULARY, TimeAxis(), config).eval()
    with torch.inference_mode():
        return model.score(Queries.one(0, 0, 10), History(Facts.from_rows(facts), VOCABULARY))[0]


RECENT = [(0, 0, 1, 5), (0, 1, 2, 6), (3, 0, 4, 8), (4, 0, 5, 9)]


def test_the_local_history_is_the_latest_snapshots_of_the_subject_however_old():
    assert not torch.allclose(scores(RECENT), scores([(0, 0, 3, 5), *RECENT[1:]]))
    # Only the two latest snapshots of the subject count.
    torch.testing.assert_close(scores(RECENT), scores([(0, 0, 3, 4), *RECENT]))


def test_the_radius_of_the_neighbourhood_is_the_number_of_layers():
    near, far = [(1, 0, 3, 5), *RECENT], [(1, 0, 3, 5), (3, 0, 5, 5), *RECENT]
    assert not torch.allclose(scores(RECENT), scores(near))
    torch.testing.assert_close(scores(RECENT, layers=1), scores(near, layers=1))
    torch.testing.assert_close(scores(near), scores(far))
    assert not torch.allclose(scores(near, layers=3), scores(far, layers=3))


def test_the_global_history_is_the_latest_snapshots_of_all():
    active = [*RECENT, (0, 0, 1, 9)]
    assert not torch.allclose(scores(active), scores([*active, (3, 1, 5, 8)]))
    # Before the global history, only the neighbourhood of the subject counts.
    torch.testing.assert_close(scores(active), scores([*active, (3, 1, 5, 7)]))


def test_question_dropout_zeroes_subjects_and_relations_in_training():
    vocabulary = Vocabulary.numbered(400, 2)
    config = RENetConfig(dim=4, local_steps=2, global_steps=2, dropout=0.0, question_dropout=0.25)
    torch.manual_seed(0)
    model = RENet(vocabulary, TimeAxis(), config)
    projected = []
    model.projection.register_forward_hook(lambda _, inputs, __: projected.append(inputs[0]))
    entities = torch.arange(400)
    queries = Queries(entities, torch.zeros_like(entities), torch.full_like(entities, 10))
    history = History(Facts.from_rows(RECENT), vocabulary)
    for training in (True, False):
        model.train(training).scores_at(queries, 10, history)
        subject, relation, _ = (projected.pop() == 0).split(4, dim=1)
        zeroed = [int(part.all(dim=1).sum()) for part in (subject, relation)]
        assert all(60 < count < 140 for count in zeroed) if training else zeroed == [0, 0]
    # The other rows are not rescaled.
    rows = torch.ones(400, 4)
    assert set(model.train()._drop_rows(rows).flatten().tolist()) == {0.0, 1.0}


@pytest.mark.slow
@given(graph=graphs(), seed=st.integers(0, 9))
def test_neighbours_are_averaged_or_weighted_by_the_attention_of_a_query(graph: Graph, seed: int):
    torch.manual_seed(seed)
    vocabulary = graph.vocabulary
    entity, relation = torch.randn(vocabulary.num_entities, 4), torch.randn(vocabulary.num_directed_relations, 4)
    neighbourhood = Neighbourhood(len(relation), RENetConfig(dim=4, layers=1, attention_dim=3))
    layer = neighbourhood.layers[0]
    assert isinstance(layer, RelationalConvolution)
    snapshots = History(graph.facts, vocabulary).snapshots
    nodes = torch.arange(len(snapshots.entity))
    query = torch.randn(len(nodes), 8)
    messages = neighbourhood.messages(nodes, entity, snapshots)
    averaged = neighbourhood.averaged(messages)
    attended = neighbourhood.attended(messages, nodes, query, relation)
    edges = set(directed_edges(graph.facts, vocabulary))
    for node in nodes.tolist():
        center, time = int(snapshots.entity[node]), snapshots.times[snapshots.step[node]]
        values, keys = [], []
        for r, neighbour in [(r, o) for s, r, o, t in edges if (s, t) == (center, time)]:
            values.append(layer.messages(entity[[neighbour]], torch.tensor([r]))[0])
            keys.append(neighbourhood.key(torch.cat([relation[r], values[-1]])))
        own, value = layer.own(entity[center]), torch.stack(values)
        weights = (torch.stack(keys) @ neighbourhood.query(query[node])).softmax(dim=0)
        torch.testing.assert_close(averaged[node], torch.tanh(own + value.mean(dim=0)), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(attended[node], torch.tanh(own + weights @ value), rtol=1e-4, atol=1e-5)
