import torch
from torch import Tensor, nn

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.common.by_time import ByTimeModel

VOCABULARY = Vocabulary.numbered(4, 1)
FACTS = Facts.from_rows([(0, 0, 1, 5), (0, 0, 2, 5), (0, 0, 3, 6)])


class ByHour(ByTimeModel):
    """Scores that depend on the time alone."""

    name = "by_hour"

    def __init__(self):
        super().__init__(VOCABULARY, TimeAxis())
        self.table = nn.Parameter(torch.arange(40.0).view(10, 4).sin())

    def scores_at(self, queries: Queries, time: int, history: History) -> Tensor:
        assert queries.time.tolist() == [time] * len(queries)
        return self.table[time].expand(len(queries), -1).clone()


def test_queries_are_scored_together_with_those_of_their_time():
    model = ByHour()
    queries = Queries(torch.tensor([0, 1, 2]), torch.tensor([0, 0, 0]), torch.tensor([6, 5, 6]))
    found = model.score(queries, History(FACTS, VOCABULARY))
    torch.testing.assert_close(found, model.table[[6, 5, 6]].log_softmax(dim=1))


def test_other_true_answers_are_excluded_from_the_loss():
    model = ByHour()
    model.prepare(FACTS, Facts.empty())
    history = History(FACTS, VOCABULARY)
    queries = Queries(torch.tensor([0, 0]), torch.tensor([0, 0]), torch.tensor([5, 6]))
    loss = model.training_step(queries, torch.tensor([1, 3]), history).loss
    without_2 = model.table[5, [0, 1, 3]].log_softmax(dim=0)[1]
    torch.testing.assert_close(loss, -(without_2 + model.table[6].log_softmax(dim=0)[3]) / 2)
