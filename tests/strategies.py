"""Random graphs for property tests."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary

MAX_ENTITIES = 6
MAX_RELATIONS = 3
LAST_TIME = 9


@dataclass(frozen=True)
class Graph:
    facts: Facts
    vocabulary: Vocabulary


@st.composite
def graphs(draw: st.DrawFn, max_facts: int = 40) -> Graph:
    """A few entities and many facts, so that ties, repetitions, self-loops and isolated entities all occur."""
    num_entities = draw(st.integers(1, MAX_ENTITIES))
    num_relations = draw(st.integers(1, MAX_RELATIONS))
    entity, relation = st.integers(0, num_entities - 1), st.integers(0, num_relations - 1)
    rows = draw(st.lists(st.tuples(entity, relation, entity, st.integers(-3, LAST_TIME)), max_size=max_facts))
    return Graph(Facts.from_rows(rows), Vocabulary.numbered(num_entities, num_relations))


def directed_edges(facts: Facts, vocabulary: Vocabulary) -> list[tuple[int, int, int, int]]:
    """Both directions of every fact, in the order of the facts."""
    edges = []
    for subject, relation, object, time in facts:
        edges.append((subject, relation, object, time))
        edges.append((object, vocabulary.inverse(relation), subject, time))
    return edges


def random_facts(seed: int, count: int, num_entities: int, num_relations: int, num_steps: int) -> Facts:
    """Many random facts in order of time."""
    generator = np.random.default_rng(seed)
    highest = (num_entities, num_relations, num_entities, num_steps)
    rows = np.stack([generator.integers(0, high, count) for high in highest], axis=1)
    return Facts.from_rows(rows).sorted_by_time()
