import pytest
import torch

from built import Built
from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED
from titer.models.common.entities import append_mean_rows, mask_unseen

TRAINED = 3
FACTS = Facts.from_rows([(0, 0, 1, -4), (0, 0, 3, 2), (4, 0, 0, 5)])


def history(num_entities: int) -> History:
    return History(FACTS, Vocabulary.numbered(num_entities, 1))


def test_an_added_entity_has_the_mean_row_and_without_one_the_table_is_unchanged():
    table = torch.randn(5, 2)
    torch.testing.assert_close(append_mean_rows(table, history(7)), torch.cat([table, table.mean(dim=0).expand(2, -1)]))
    assert append_mean_rows(table, history(5)) is table


def test_an_added_entity_is_no_answer_before_its_first_fact():
    time = torch.tensor([-9, 2, 3, 5, 6])
    queries = Queries(torch.zeros_like(time), torch.zeros_like(time), time)
    scores = torch.randn(5, 6)
    found = mask_unseen(scores, queries, TRAINED, history(6))
    known = torch.tensor([[time > 2, time > 5, False] for time in time.tolist()])
    assert torch.equal(found[:, :TRAINED], scores[:, :TRAINED])
    assert torch.equal(found[:, TRAINED:], scores[:, TRAINED:].where(known, UNREACHED))
    assert mask_unseen(scores, queries, 6, history(6)) is scores


@pytest.mark.slow
def test_masking_many_added_entities_needs_no_more_memory_than_their_scores():
    time = torch.arange(50)
    queries = Queries(torch.zeros_like(time), torch.zeros_like(time), time)
    scores, past = torch.randn(50, 1000), history(1000)
    with Built() as built:
        mask_unseen(scores, queries, TRAINED, past)
    assert max(built.sizes) <= scores.nbytes
