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
from titer.errors import ConfigError
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
    """What is forecast of entity 0 at time 10."""
    torch.manual_seed(0)
    config = RENetConfig(**{"dim": 4, "layers": 2, "local_steps": 2, "global_steps": 2, **settings})
    model = RENet(VOCABULARY, TimeAxis(), config).eval()
    with torch.inference_mode():
        return model.score(Queries.one(0, 0, 10), History(Facts.from_rows(facts), VOCABULARY))[0]


RECENT = [(0, 0, 1, 5), (0, 1, 2, 6), (3, 0, 4, 8), (4, 0, 5, 9)]


def test_the_latest_steps_of_the_subject_are_read_however_old_they_are():
    assert not torch.allclose(scores(RECENT), scores([(0, 0, 3, 5), *RECENT[1:]]))
    # Only the two latest count.
    torch.testing.assert_close(scores(RECENT), scores([(0, 0, 3, 4), *RECENT]))


def test_a_step_is_seen_as_far_around_the_subject_as_there_are_layers():
    beside, beyond = [(1, 0, 3, 5), *RECENT], [(1, 0, 3, 5), (3, 0, 5, 5), *RECENT]
    assert not torch.allclose(scores(RECENT), scores(beside))
    torch.testing.assert_close(scores(RECENT, layers=1), scores(beside, layers=1))
    torch.testing.assert_close(scores(beside), scores(beyond))
    assert not torch.allclose(scores(beside, layers=3), scores(beyond, layers=3))


def test_the_latest_steps_of_the_world_are_read_together_with_those_of_the_subject():
    active = [*RECENT, (0, 0, 1, 9)]
    assert not torch.allclose(scores(active), scores([*active, (3, 1, 5, 8)]))
    # Before the steps of the global history, only what happens around the subject counts.
    torch.testing.assert_close(scores(active), scores([*active, (3, 1, 5, 7)]))


def test_some_questions_of_training_do_without_their_subject_or_their_relation():
    vocabulary = Vocabulary.numbered(400, 2)
    config = RENetConfig(dim=4, local_steps=2, global_steps=2, dropout=0.0, question_dropout=0.25)
    torch.manual_seed(0)
    model = RENet(vocabulary, TimeAxis(), config)
    expected = []
    model.expected.register_forward_hook(lambda _, inputs, __: expected.append(inputs[0]))
    everyone = torch.arange(400)
    queries = Queries(everyone, torch.zeros_like(everyone), torch.full_like(everyone, 10))
    history = History(Facts.from_rows(RECENT), vocabulary)
    for training in (True, False):
        model.train(training).scores_at(queries, 10, history)
        subject, relation, _ = (expected.pop() == 0).split(4, dim=1)
        missing = [int(part.all(dim=1).sum()) for part in (subject, relation)]
        assert all(60 < count < 140 for count in missing) if training else missing == [0, 0]
    # The others stay as they are.
    rows = torch.ones(400, 4)
    assert set(model.train()._sometimes(rows).flatten().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize(
    "wrong",
    [
        {"dim": 0},
        {"layers": 0},
        {"local_steps": 0},
        {"global_steps": 0},
        {"dim": 5},
        {"dropout": 1.0},
        {"question_dropout": -0.1},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]):
    with pytest.raises(ConfigError, match=r"model\."):
        RENetConfig(**wrong)


@given(graph=graphs(), seed=st.integers(0, 9))
def test_neighbours_are_heard_alike_or_as_a_question_wants(graph: Graph, seed: int):
    torch.manual_seed(seed)
    vocabulary = graph.vocabulary
    entity, relation = torch.randn(vocabulary.num_entities, 4), torch.randn(vocabulary.num_directed_relations, 4)
    neighbourhood = Neighbourhood(len(relation), RENetConfig(dim=4, layers=1, attention_dim=3))
    layer = neighbourhood.layers[0]
    assert isinstance(layer, RelationalConvolution)
    snapshots = History(graph.facts, vocabulary).snapshots
    nodes = torch.arange(len(snapshots.entity))
    asked = torch.randn(len(nodes), 8)
    heard = neighbourhood.heard(nodes, entity, snapshots)
    alike, attended = neighbourhood.alike(heard), neighbourhood.attended(heard, nodes, asked, relation)
    edges = set(directed_edges(graph.facts, vocabulary))
    for node in nodes.tolist():
        here, time = int(snapshots.entity[node]), snapshots.times[snapshots.step[node]]
        said, keys = [], []
        for r, there in [(r, o) for s, r, o, t in edges if (s, t) == (here, time)]:
            said.append(layer.messages(entity[[there]], torch.tensor([r]))[0])
            keys.append(neighbourhood.key(torch.cat([relation[r], said[-1]])))
        own, messages = layer.own(entity[here]), torch.stack(said)
        weights = (torch.stack(keys) @ neighbourhood.query(asked[node])).softmax(dim=0)
        torch.testing.assert_close(alike[node], torch.tanh(own + messages.mean(dim=0)), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(attended[node], torch.tanh(own + weights @ messages), rtol=1e-4, atol=1e-5)
