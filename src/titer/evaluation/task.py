"""A split prepared for evaluation: the indexes that every evaluation of it shares."""

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from titer.data.dataset import SPLITS, Dataset
from titer.data.facts import Facts
from titer.errors import TiterError
from titer.evaluation.protocol import Past, Protocol
from titer.graph.filters import Filter, TrueAnswers
from titer.graph.queries import Queries
from titer.graph.stored_history import history_of


class EvaluationTask:
    """The queries of one split, their answers, the history and the filter of a protocol, on one device.

    Building the history and its derived indexes takes longer than scoring a small split. Code that evaluates the same
    split repeatedly, such as a training with a validation after each epoch, builds one task and reuses it.

    Args:
        dataset: The dataset to evaluate on.
        split: ``train``, ``valid`` or ``test``.
        protocol: How to rank; the default is the convention ``realistic``.
        device: Where the models to evaluate keep their parameters.
        max_queries: Ask a random sample of this many queries if the split has more. It is the same in every task.
        min_steps: Take the sample from as few random time steps as have so many queries, but from at least this many;
            by default from all. A model computes the states of its entities for each time step, so few are faster.

    Raises:
        DataError: If the split is unknown or empty.
        TiterError: If the protocol freezes the history after the beginning of the split.
    """

    def __init__(
        self,
        dataset: Dataset,
        split: str = "test",
        protocol: Protocol | None = None,
        device: torch.device | str = "cpu",
        *,
        max_queries: int | None = None,
        min_steps: int | None = None,
    ):
        self.dataset, self.split = dataset, split
        self.protocol = protocol or Protocol()
        self.device = torch.device(device)
        self.queries, self.answers = Queries.from_facts(dataset.split(split), dataset.vocabulary)
        self.num_queries = len(self.queries)
        """The number of queries of the whole split."""
        if max_queries is not None and max_queries < self.num_queries:
            rows = sampled_rows(self.queries.time, max_queries, min_steps)
            self.queries, self.answers = self.queries[rows], self.answers[rows]
        self.history = history_of(dataset, last_past_split(split, self.protocol.past)).to(self.device)

    @cached_property
    def true_answers(self) -> TrueAnswers:
        """The known answers that the protocol's filter removes from a ranking."""
        return self._true_answers(self.protocol.filter)

    @cached_property
    def true_at_time(self) -> TrueAnswers:
        """The answers that are true at the time of a query, whichever filter ranks them.

        Calibration uses these: the probability of an answer does not depend on the filter of a ranking.
        """
        if self.protocol.filter is Filter.TIME_AWARE:
            return self.true_answers
        return self._true_answers(Filter.TIME_AWARE)

    def _true_answers(self, filter: Filter) -> TrueAnswers:
        splits = list(self.dataset.splits.values())
        if filter is Filter.TIME_AWARE:
            # Facts of other steps are true at the time of no query.
            first, last = int(self.queries.time.min()), int(self.queries.time.max())
            splits = [facts[(facts.time >= first) & (facts.time <= last)] for facts in splits]
        return TrueAnswers(Facts.concatenate(*splits), self.dataset.vocabulary, filter).to(self.device)


def sampled_rows(time: Tensor, max_queries: int, min_steps: int | None = None) -> Tensor:
    """Return the rows of a random sample of queries, in order. It is the same at every call.

    Args:
        time: The time step of each query.
        max_queries: Number of rows to return, if there are more.
        min_steps: Take the sample from as few random time steps as have so many queries, but from at least this many;
            by default from all.

    Returns:
        The rows.
    """
    if len(time) <= max_queries:
        return torch.arange(len(time))
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(time))
    if min_steps is not None:
        steps, step, counts = np.unique(time.numpy(), return_inverse=True, return_counts=True)
        order = rng.permutation(len(steps))
        enough = 1 + int(np.searchsorted(np.cumsum(counts[order]), max_queries))
        is_asked = np.zeros(len(steps), dtype=bool)
        is_asked[order[: max(enough, min_steps)]] = True
        rows = rows[is_asked[step[rows]]]
    return torch.from_numpy(np.sort(rows[:max_queries]))


def last_past_split(split: str, past: Past) -> str:
    """Return the last split whose facts the history of a split may contain.

    A query still sees only the facts strictly before its own time.

    Args:
        split: The split that is evaluated.
        past: Which facts the queries may look back on.

    Returns:
        The name of the last split that ``past`` allows.

    Raises:
        TiterError: If a frozen history would include the evaluated split.
    """
    until = {Past.FROZEN_AT_TRAIN: "train", Past.FROZEN_AT_VALID: "valid", Past.ROLLING: split}[past]
    if past is not Past.ROLLING and SPLITS.index(until) >= SPLITS.index(split):
        raise TiterError(f"a {past} history would include the {split} split itself; use a rolling history")
    return until
