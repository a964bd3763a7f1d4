"""Answers that do not compete with the one asked for."""

from torch import Tensor

from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.filters import TrueAnswers
from titer.graph.queries import Queries


class OtherAnswers:
    """What else is true at a question's time, as far as training knows; it does not compete in the ranking either."""

    def __init__(self, vocabulary: Vocabulary):
        self._vocabulary = vocabulary
        self._known = TrueAnswers(Facts.empty(), vocabulary)

    def learn_from(self, train: Facts) -> None:
        """Note which answers are true together."""
        self._known = TrueAnswers(train, self._vocabulary)

    def __call__(self, queries: Queries, answers: Tensor) -> tuple[Tensor, Tensor]:
        """Pairs (row of the question, answer) that are true beside those asked for."""
        self._known = self._known.to(answers.device)
        return self._known.others(queries, answers)
