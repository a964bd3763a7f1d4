"""The series of subjects with a fact among their latest ones."""

import torch
from torch import Tensor

from titer.graph.history import History
from titer.graph.pair_index import Series, of_rows
from titer.graph.ragged import spread
from titer.graph.sorted_edges import TIME_BITS


def latest_series(history: History, subject: Tensor, elapsed: int | Tensor, limit: int) -> Series:
    """Return the series of each subject with a fact among its latest edges before a time.

    The cost of a subject is bounded, however many facts it has. Subjects with few edges have all of their series.

    Args:
        history: The history.
        subject: The subjects. Shape ``(subjects,)``.
        elapsed: Time steps since the first fact, of all subjects or of each.
        limit: How many edges of a subject count. All edges of a time step count if one of them does, so that nothing
            depends on the order of the facts.

    Returns:
        The series, sorted by subject, object and relation.
    """
    index = history.pair_index
    if history.max_edges <= limit:
        return index.series_before(subject, elapsed)
    end = torch.searchsorted(history.key, (subject << TIME_BITS) + elapsed)
    is_busy = end - history.offsets[subject] > limit
    busy, others = is_busy.nonzero()[:, 0], (~is_busy).nonzero()[:, 0]
    if len(busy) == 0:
        return index.series_before(subject, elapsed)
    end = end.index_select(0, busy)
    first = torch.searchsorted(history.key, history.key.index_select(0, end - limit))
    row, place = spread(first, end)
    edge = busy.index_select(0, row), history.relation.index_select(0, place), history.object.index_select(0, place)
    found = index.series_of(subject, *edge, elapsed)
    if len(others) == 0:
        return found
    rest = index.series_before(subject.index_select(0, others), of_rows(elapsed, others))
    rows, order = torch.sort(torch.cat([found.row, others.index_select(0, rest.row)]), stable=True)
    columns = zip((found.relation, found.object, found.event), (rest.relation, rest.object, rest.event), strict=True)
    return Series(rows, *(torch.cat(pair).index_select(0, order) for pair in columns))
