from collections import Counter
from itertools import product

import pytest

from models.cases import ModelCase
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.random_walk import RandomWalk, RandomWalkConfig


class TestRandomWalk(ModelCase):
    name = "random_walk"
    settings = {"num_walks": 200}  # noqa: RUF012
    least_mrr = 0.6
    shares_sum_to_one = True


def exact(
    edges: list[tuple[int, int, int]], start: int, query_time: int, num_edges: int, num_hops: int
) -> dict[int, float]:
    """Oracle: the probability of each end by enumeration of all walks. Edges are (from, to, time), oldest first."""
    states = {(start, query_time): 1.0}
    for _ in range(num_hops):
        next_states: dict[tuple[int, int], float] = {}
        for (entity, time), probability in states.items():
            options = [(o, t) for s, o, t in edges if s == entity and t <= time and t < query_time][-num_edges:]
            for option in [(entity, time), *options]:
                next_states[option] = next_states.get(option, 0) + probability / (len(options) + 1)
        states = next_states
    ends: dict[int, float] = {}
    for (entity, _), probability in states.items():
        ends[entity] = ends.get(entity, 0) + probability
    return ends


@pytest.mark.parametrize(("num_edges", "num_hops"), list(product((2, 50), (1, 3))))
def test_scores_are_the_end_probabilities_of_a_uniform_walk(num_edges: int, num_hops: int):
    rows = [(0, 0, 1, 0), (1, 0, 2, 1), (0, 0, 2, 2), (2, 0, 3, 2), (3, 0, 0, 3), (0, 0, 1, 4), (0, 0, 3, 9)]
    edges = [edge for s, _, o, t in rows for edge in ((s, o, t), (o, s, t))]
    config = RandomWalkConfig(num_hops=num_hops, num_edges=num_edges, num_walks=40_000)
    model = RandomWalk(Vocabulary.numbered(4, 1), TimeAxis(), config)
    scores = model.score(Queries.one(0, 0, 5), History(Facts.from_rows(rows), model.vocabulary))[0]
    expected = exact(edges, 0, 5, num_edges, num_hops)
    for entity in range(4):
        assert max(float(scores[entity]), 0) == pytest.approx(expected.get(entity, 0), abs=0.02)


@pytest.mark.parametrize("seed", [1, 2, (1 << 31) - 1])
def test_another_seed_gives_other_walks(world_data, seed: int):
    history = History(world_data.facts, world_data.vocabulary)
    query = Queries.one(0, 0, 100)

    def walks(seed: int) -> Counter[tuple[int, ...]]:
        """Count the walks that take each path."""
        model = RandomWalk(world_data.vocabulary, world_data.axis, RandomWalkConfig(seed=seed))
        columns = [column for hop in model._walk(query, history) for column in (hop.relation, hop.object, hop.time)]
        return Counter(zip(*(column.tolist() for column in columns), strict=True))

    assert walks(0) == walks(0)
    shared = (walks(0) & walks(seed)).total()
    assert shared < 500  # of 1000, since short walks occur with every seed
