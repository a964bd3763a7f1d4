from typing import ClassVar

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strategies import LAST_TIME, Graph, graphs
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.forecasting.evidence import ALL, grouped, grouped_evidence
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.evidence import Edge, Evidence
from titer.models.registry import model_class
from titer.training.config import Config

small, relation = st.integers(0, 2), st.integers(0, 3)
paths = st.lists(st.builds(Edge, small, relation, small, small), max_size=2).map(tuple)
items = st.lists(st.builds(Evidence, paths, st.floats(0, 1), st.sampled_from(["", "usual"]), count=st.integers(1, 3)))


VOCABULARY = Vocabulary.numbered(3, 2)
"""Relations 0 and 1, and their inverses 2 and 3."""


def kind(item: Evidence) -> tuple[object, ...]:
    return tuple(edge.forward(VOCABULARY)[:3] for edge in item.path), item.note


def dated(item: Evidence) -> tuple[Edge, ...]:
    return tuple(edge.forward(VOCABULARY) for edge in item.path)


def relations(item: Evidence) -> tuple[int, ...]:
    return tuple(edge.relation for edge in item.path)


def num_paths(same: list[Evidence]) -> int:
    """Count the paths of each direction, and take the largest count where several follow the same facts."""
    directions = {path: {relations(item) for item in same if dated(item) == path} for path in map(dated, same)}
    return sum(
        max(sum(o.count for o in same if dated(o) == path and relations(o) == way) for way in ways)
        for path, ways in directions.items()
    )


@given(evidence=items)
def test_every_group_has_all_evidence_of_its_kind(evidence: list[Evidence]):
    found = grouped(evidence, VOCABULARY)
    assert len({kind(item) for item in found}) == len(found)
    for item in found:
        same = [other for other in evidence if kind(other) == kind(item)]
        assert item.share == pytest.approx(sum(other.share for other in same))
        assert item.count == num_paths(same)
        assert item.path in [other.path for other in same]
        times = [[edge.time for edge in other.path] for other in same]
        assert [edge.time for edge in item.path] == max(times)
    assert {kind(item) for item in found} == {kind(item) for item in evidence}
    assert [item.share for item in found] == sorted((item.share for item in found), reverse=True)
    assert grouped(found, VOCABULARY) == found


def test_twelve_meetings_are_one_group():
    meetings = [Evidence((Edge(0, 0, 1, day),), 1 / 32) for day in range(12)]
    other = Evidence((Edge(0, 1, 1, 5),), 0.25)
    usual = Evidence((), 0.375, "usual")
    merged = Evidence((Edge(0, 0, 1, 11),), 0.375, count=12)
    assert grouped([other, *meetings, usual], VOCABULARY) == [merged, usual, other]


def test_a_fact_of_an_entity_with_itself_is_one_line():
    there, back = Evidence((Edge(1, 0, 1, 5),), 0.6), Evidence((Edge(1, 2, 1, 5),), 0.25)
    earlier = Evidence((Edge(1, 0, 1, 3),), 0.15)
    (found,) = grouped([there, back, earlier], VOCABULARY)
    assert found == Evidence((Edge(1, 0, 1, 5),), 1.0, count=2)


class TestModels:
    settings: ClassVar = {
        "recurrency": {},
        "random_walk": {},
        "titer": {"entity_dim": 4, "time_dim": 4, "relation_dim": 4, "state_dim": 4},
        "path_mixture": {"dim": 4, "relation_dim": 4, "hidden_dim": 4, "rank": 4},
    }

    @pytest.mark.slow
    @pytest.mark.parametrize("name", settings)
    @given(graph=graphs(), time=st.integers(0, LAST_TIME))
    def test_shares_of_groups_sum_to_those_of_all_evidence(self, name: str, graph: Graph, time: int):
        torch.manual_seed(0)
        config = Config.from_dict({"model": dict(self.settings[name])}, name).model
        model = model_class(name)(graph.vocabulary, TimeAxis(), config).eval()
        history, query = History(graph.facts, graph.vocabulary), Queries.one(0, 0, time)
        with torch.inference_mode():
            for answer in range(graph.vocabulary.num_entities):
                each = model.explain(query, answer, history, ALL)
                together = grouped_evidence(model, query, answer, history, ALL)
                facts = {tuple(edge.forward(graph.vocabulary) for edge in item.path) for item in each}
                assert len(facts) <= sum(item.count for item in together) <= len(each)
                assert sum(item.share for item in together) == pytest.approx(sum(item.share for item in each))
                assert grouped_evidence(model, query, answer, history, 1) == together[:1]
