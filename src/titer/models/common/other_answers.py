"""Other true answers, which are excluded from the training loss."""

from torch import Tensor

from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.filters import TrueAnswers
from titer.graph.queries import Queries


class OtherAnswers:
    """The other answers of a query that are true at its time, according to the training split.

    They are excluded from the softmax in training, as they are excluded from the ranking in evaluation.
    """

    def __init__(self, vocabulary: Vocabulary):
        self._vocabulary = vocabulary
        self._known = TrueAnswers(Facts.empty(), vocabulary)

    def learn_from(self, train: Facts) -> None:
        """Index the true answers of the training split."""
        self._known = TrueAnswers(train, self._vocabulary)

    def __call__(self, queries: Queries, answers: Tensor) -> tuple[Tensor, Tensor]:
        """Return the pairs (row of a query, other true answer) as two tensors."""
        self._known = self._known.to(answers.device)
        return self._known.others(queries, answers)
