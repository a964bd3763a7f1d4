import math
from typing import Any, ClassVar
from zlib import crc32

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from models.cases import ModelCase
from strategies import LAST_TIME, Graph, directed_edges, graphs
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model
from titer.models.common.conv_trans import ConvTrans
from titer.models.common.snapshot_graph import latest_graphs
from titer.models.re_gcn.config import REGCNConfig
from titer.models.re_gcn.evolution import SLOPE, GraphConvolution, RecurrentGate, TimeGate
from titer.models.re_gcn.model import REGCN
from titer.models.re_gcn.names import BEFORE, INSIDE, WHOLE, NameEmbedding, name_parts


class TestREGCN(ModelCase):
    name = "re_gcn"
    settings: ClassVar[dict[str, Any]] = {"dim": 16, "steps": 2, "layers": 1, "channels": 4, "dropout": 0.1}
    training: ClassVar = {
        "epochs": 5,
        "batch_size": 1000,
        "learning_rate": 0.03,
        "learning_rate_schedule": "triangle",
        "recent_steps": 60,
        "validate_every": 5,
    }
    least_mrr = 0.5
    explains = False


class TestREGCNWithNames(TestREGCN):
    settings: ClassVar[dict[str, Any]] = {**TestREGCN.settings, "names": True, "angle_weight": 0.01}

    def make(self, graph: Graph, train: Facts) -> Model:
        """A prepared model whose random weights do not depend on how many parts all names have."""
        model = super().make(graph, train)
        texts = dict.fromkeys(text for name in graph.vocabulary.entities for _, text in name_parts(name))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                keys = texts if name.endswith(".part") else [name]
                for key, rows in zip(keys, parameter.chunk(len(keys)), strict=True):
                    rows.copy_(torch.randn(rows.shape, generator=torch.Generator().manual_seed(crc32(key.encode()))))
        return model


# Facts that are repeated, a self-loop, a gap in time, and an entity without facts (4).
GRAPH = Graph(
    Facts.from_rows([(0, 0, 1, 1), (0, 1, 2, 2), (0, 1, 2, 2), (0, 0, 1, 2), (3, 1, 0, 5), (0, 1, 2, 5), (1, 1, 1, 6)]),
    Vocabulary.numbered(5, 2),
)
HISTORY = History(GRAPH.facts, GRAPH.vocabulary)


def make(graph: Graph = GRAPH, **settings: Any) -> REGCN:
    torch.manual_seed(0)
    return REGCN(graph.vocabulary, TimeAxis(), REGCNConfig(**{"dim": 4, "channels": 3, **settings})).eval()


def unit(vector: Tensor) -> Tensor:
    return vector / vector.norm().clamp(min=1e-12)


def evolved_by_hand(
    model: REGCN, graph: Graph, first: Tensor, times: list[int]
) -> tuple[dict[int, Tensor], dict[int, Tensor]]:
    """Oracle: the unit embeddings of entities and relations after some time steps, one entity and edge at a time."""
    edges = set(directed_edges(graph.facts, graph.vocabulary))
    entity = {v: unit(first[v]) for v in range(graph.vocabulary.num_entities)}
    relation = dict(enumerate(model.relation))
    for time in times:
        now = [edge[:3] for edge in edges if edge[3] == time]
        for r in relation:
            pair = {r, graph.vocabulary.inverse(r)}
            members = {v for s, q, o in now if q in pair for v in (s, o)}
            mean = torch.stack([entity[v] for v in members]).mean(dim=0) if members else torch.zeros_like(entity[0])
            relation[r] = unit(model.evolution.relation_cell(torch.cat([model.relation[r], mean]), relation[r]))
        current = entity
        for layer in model.evolution.layers:
            assert isinstance(layer, GraphConvolution)
            after = {}
            for v, state in current.items():
                incoming = [current[s] + relation[q] for s, q, o in now if o == v]
                if incoming:
                    mean = torch.stack([layer.neighbour(message) for message in incoming]).mean(dim=0)
                    after[v] = functional.leaky_relu(mean + layer.present(state), SLOPE)
                else:
                    after[v] = functional.leaky_relu(layer.absent(state), SLOPE)
            current = after
        update = model.evolution.update
        for v in entity:
            if isinstance(update, TimeGate):
                gate = torch.sigmoid(update.gate(entity[v]))
                entity[v] = gate * unit(current[v]) + (1 - gate) * entity[v]
            else:
                assert isinstance(update, RecurrentGate)
                entity[v] = unit(update.cell(unit(current[v]), entity[v]))
    return {v: unit(state) for v, state in entity.items()}, {r: unit(state) for r, state in relation.items()}


@pytest.mark.slow
@given(graph=graphs(), time=st.integers(-2, LAST_TIME + 2), steps=st.integers(1, 3), layers=st.integers(1, 2))
def test_embeddings_evolve_over_the_latest_snapshots_before_the_time(graph: Graph, time: int, steps: int, layers: int):
    model = make(graph, steps=steps, layers=layers)
    times = sorted({t for t in graph.facts.time.tolist() if t < time})[-steps:]
    with torch.inference_mode():
        found = model.evolved(time, History(graph.facts, graph.vocabulary))
        assert isinstance(model.entity, Tensor)
        entity, relation = evolved_by_hand(model, graph, model.entity, times)
    assert len(found.path) == len(times) + 1
    torch.testing.assert_close(found.entity, torch.stack([entity[v] for v in range(len(entity))]))
    torch.testing.assert_close(found.relation, torch.stack([relation[r] for r in range(len(relation))]))


def test_a_score_is_the_decoded_query_times_the_embedding_of_the_answer():
    model = make(steps=2)
    query = Queries.one(0, 3, 6)
    with torch.inference_mode():
        assert isinstance(model.entity, Tensor)
        entity, relation = evolved_by_hand(model, GRAPH, model.entity, [2, 5])
        query_vector = model.entity_decoder(entity[0].tanh()[None], relation[3][None])[0]
        expected = torch.stack([query_vector @ entity[v].tanh() for v in range(5)])
        torch.testing.assert_close(model.score(query, HISTORY)[0], expected.log_softmax(dim=0))


def test_the_decoder_is_a_convolution_and_a_linear_map():
    torch.manual_seed(0)
    decoder = ConvTrans(num_inputs=2, dim=4, channels=3, dropout=0.5).eval()
    for norm in (decoder.input_norm, decoder.channel_norm, decoder.output_norm):
        norm.load_state_dict({name: torch.rand_like(value.float()) for name, value in norm.state_dict().items()})

    def normalised(norm: torch.nn.BatchNorm1d, x: Tensor, channel: int) -> Tensor:
        assert norm.running_mean is not None
        assert norm.running_var is not None
        scaled = (x - norm.running_mean[channel]) / torch.sqrt(norm.running_var[channel] + norm.eps)
        return scaled * norm.weight[channel] + norm.bias[channel]

    inputs = torch.randn(2, 4)
    with torch.inference_mode():
        rows = [[0.0, *normalised(decoder.input_norm, row, i).tolist(), 0.0] for i, row in enumerate(inputs)]
        maps = []
        assert decoder.convolution.bias is not None
        for channel, kernel in enumerate(decoder.convolution.weight):
            bias = decoder.convolution.bias[channel]
            sums = [
                bias + sum(kernel[i, j] * rows[i][place + j] for i in range(2) for j in range(3)) for place in range(4)
            ]
            maps.append(normalised(decoder.channel_norm, torch.stack(sums), channel).clamp(min=0))
        last = decoder.linear.weight @ torch.cat(maps) + decoder.linear.bias
        expected = [normalised(decoder.output_norm, value, i).clamp(min=0) for i, value in enumerate(last)]
        torch.testing.assert_close(decoder(*inputs[:, None])[0], torch.stack(expected))


def test_a_batch_of_one_query_can_be_trained_on():
    decoder = ConvTrans(num_inputs=2, dim=4, channels=3, dropout=0.0).train()
    assert bool(torch.isfinite(decoder(torch.randn(1, 4), torch.randn(1, 4))).all())


def test_the_loss_is_that_of_entities_of_relations_and_of_names():
    model = make(steps=2, dropout=0.0, names=True, entity_weight=0.6, angle=5.0, angle_weight=0.3)
    model.prepare(GRAPH.facts, Facts.empty())
    # The decoders keep their statistics, so that scores of single queries can be compared with those of a batch.
    model.training = True
    queries = Queries(torch.tensor([0, 0, 3]), torch.tensor([0, 1, 1]), torch.tensor([2, 2, 5]))
    answers = torch.tensor([1, 2, 0])
    with torch.no_grad():
        found = model.training_step(queries, answers, HISTORY)
        assert isinstance(model.entity, NameEmbedding)
        first = model.entity()
        entity_loss, relation_loss, departure = torch.zeros(3).unbind()
        for s, r, o, t in [(0, 0, 1, 2), (0, 1, 2, 2), (3, 1, 0, 5)]:
            times = [time for time in (1, 2) if time < t]
            entity, relation = evolved_by_hand(model, GRAPH, first, times)
            answer_vector = model.entity_decoder(entity[s].tanh()[None], relation[r][None])[0]
            scores = torch.stack([answer_vector @ entity[v].tanh() for v in range(5)])
            entity_loss = entity_loss - scores.log_softmax(dim=0)[o]
            relation_vector = model.relation_decoder(entity[s].tanh()[None], entity[o].tanh()[None])[0]
            scores = torch.stack([relation_vector @ relation[q] for q in range(4)])
            relation_loss = relation_loss - scores.log_softmax(dim=0)[r]
        for times in ([1], [1, 2]):  # the snapshots before 2 and before 5
            for i in range(1, len(times) + 1):
                state, _ = evolved_by_hand(model, GRAPH, first, times[:i])
                for v in range(5):
                    departure = departure + max(math.cos(math.radians(5 * i)) - float(state[v] @ unit(first[v])), 0)
    torch.testing.assert_close(found.log["entity_loss"], entity_loss / 3)
    torch.testing.assert_close(found.log["relation_loss"], relation_loss / 3)
    torch.testing.assert_close(found.log["name_loss"], departure)
    torch.testing.assert_close(found.loss, 0.6 * entity_loss / 3 + 0.4 * relation_loss / 3 + 0.3 * departure)
    assert float(departure) > 0.1


def test_other_true_answers_are_excluded_from_the_loss_of_entities():
    facts = Facts.from_rows([(0, 0, 1, 1), (0, 0, 2, 4), (0, 0, 3, 4)])
    graph = Graph(facts, Vocabulary.numbered(5, 1))
    model, history = make(graph), History(facts, graph.vocabulary)
    model.prepare(facts, Facts.empty())
    query = Queries.one(0, 0, 4)
    with torch.no_grad():
        found = model.training_step(query, torch.tensor([2]), history).log["entity_loss"]
        scores = model.score(query, history)[0]
    torch.testing.assert_close(found, -scores[[0, 1, 2, 4]].log_softmax(dim=0)[2])


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Police (Kenya)", [(BEFORE, "Police"), (INSIDE, "Kenya")]),
        ("Police_(Kenya)", [(BEFORE, "Police"), (INSIDE, "Kenya")]),
        ("Kenya", [(WHOLE, "Kenya")]),
        ("Kenya (", [(WHOLE, "Kenya (")]),
    ],
)
def test_parentheses_divide_a_name_into_two_parts(name: str, parts: list[tuple[int, str]]):
    assert name_parts(name) == parts


def test_the_embedding_of_a_name_is_the_mean_of_its_mapped_parts():
    vocabulary = Vocabulary(["Kenya", "Police (Kenya)", "Police (Peru)"], ["visit"])
    torch.manual_seed(0)
    names = NameEmbedding(vocabulary, dim=4, dropout=0.5).eval()
    assert len(names.part) == 3
    kenya, police, peru = names.part
    with torch.inference_mode():
        whole, before, inside = names.maps
        sums = [whole(kenya), (before(police) + inside(kenya)) / 2, (before(police) + inside(peru)) / 2]
        torch.testing.assert_close(names(), functional.leaky_relu(torch.stack(sums), SLOPE))


def test_names_of_entities_without_a_past_fact_are_not_read_in_evaluation():
    def scores(later: str) -> Tensor:
        vocabulary = Vocabulary(["Kenya", "Peru", "Police (Kenya)", later], ["visit"])
        torch.manual_seed(0)
        model = REGCN(vocabulary, TimeAxis(), REGCNConfig(dim=4, channels=3, names=True)).eval()
        assert isinstance(model.entity, NameEmbedding)
        facts = Facts.from_rows([(0, 0, 2, 1), (1, 0, 2, 2), (3, 0, 2, 5)])
        with torch.inference_mode():
            return model.score(Queries(torch.tensor([2, 2]), torch.tensor([1, 1]), torch.tensor([5, 6])),
                               History(facts, vocabulary))  # fmt: skip

    # Both names have known parts only, so that the two models have the same parameters.
    before, after = scores("Police (Peru)") - scores("Kenya (Peru)")
    torch.testing.assert_close(before, torch.zeros(4))
    assert not torch.allclose(after, torch.zeros(4))


def test_the_graphs_of_snapshots_are_made_once():
    history = History(GRAPH.facts, GRAPH.vocabulary)
    early, late = latest_graphs(history, 6, 2), latest_graphs(history, 7, 2)
    assert [len(graph.active) for graph in early] == [3, 3]
    assert early[1] is late[0]
    assert latest_graphs(history, 1, 2) == []
