"""The distinct queries of each time step, against a loop over the queries."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from strategies import LAST_TIME, Graph, graphs
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.path_mixture.distinct_queries import distinct_steps


@given(graph=graphs(), data=st.data())
def test_every_query_is_found_once_in_the_batch_of_its_time(graph: Graph, data: st.DataObject):
    vocabulary = graph.vocabulary
    columns = st.tuples(
        st.integers(0, vocabulary.num_entities - 1),
        st.integers(0, vocabulary.num_directed_relations - 1),
        st.integers(-2, LAST_TIME + 2),
    )
    asked = data.draw(st.lists(columns, max_size=12))
    queries = Queries(*torch.tensor(asked, dtype=torch.int64).reshape(-1, 3).T)
    steps = distinct_steps(queries, History(graph.facts, vocabulary))
    assert [step.batch.time for step in steps] == sorted({time for _, _, time in asked})
    found: dict[int, tuple[int, int, int]] = {}
    for step in steps:
        pairs = list(zip(step.batch.subject.tolist(), step.batch.relation.tolist(), strict=True))
        assert len(set(pairs)) == len(pairs)
        places = range(len(pairs)) if step.place is None else step.place.tolist()
        assert list(places) == sorted(places)
        for row, place in zip(step.rows.tolist(), places, strict=True):
            assert row not in found
            found[row] = (*pairs[place], step.batch.time)
    assert found == dict(enumerate(asked))
