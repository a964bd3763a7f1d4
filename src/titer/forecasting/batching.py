"""Many questions, answered batch by batch."""

from collections.abc import Iterable, Iterator
from itertools import islice

import torch

from titer.errors import TiterError
from titer.evaluation.batching import default_batch_size, scoring_batches
from titer.forecasting.forecast import Forecast, Unanswered
from titer.forecasting.predictor import EncodedQuestion, Predictor
from titer.forecasting.question import Question
from titer.graph.queries import Queries

MAX_SCORES = 1 << 25
"""Scores held at once: with very many entities, a batch has fewer questions."""
BATCHES_READ_AHEAD = 16
"""The questions of this many batches are sorted by time, since those of one time step share work."""
MAX_ANSWERS = 1 << 16
"""Answers held at once, counting each piece of evidence."""


def answer_in_batches(
    predictor: Predictor,
    questions: Iterable[Question | Unanswered],
    *,
    top: int,
    explain: int,
    batch_size: int | None = None,
) -> Iterator[Forecast | Unanswered]:
    """Answer questions in their order and hold only a few batches in memory.

    See ``Forecaster.ask_many`` for the arguments.
    """
    size = batch_size or default_batch_size(predictor.model)
    size = max(1, min(size, MAX_SCORES // max(predictor.vocabulary.num_entities, 1)))
    ahead = max(1, min(BATCHES_READ_AHEAD * size, MAX_ANSWERS // (top * (1 + explain))))
    remaining = iter(questions)
    while window := list(islice(remaining, ahead)):
        yield from _answer_window(predictor, window, top, explain, size)


def _answer_window(
    predictor: Predictor, window: list[Question | Unanswered], top: int, explain: int, size: int
) -> Iterator[Forecast | Unanswered]:
    results: list[Forecast | Unanswered | None] = [None] * len(window)
    encoded: list[tuple[int, EncodedQuestion]] = []
    for place, question in enumerate(window):
        if isinstance(question, Unanswered):
            results[place] = question
            continue
        try:
            encoded.append((place, predictor.encode(question)))
        except TiterError as error:
            results[place] = Unanswered.because(question, error.with_traceback(None))
    if encoded:
        queries = Queries(*(torch.tensor(column) for column in zip(*(asked for _, asked in encoded), strict=True)))
        for rows, _ in scoring_batches(predictor.model, queries, size):
            places, batch = zip(*(encoded[row] for row in rows.tolist()), strict=True)
            forecasts = predictor.forecasts(predictor.score(batch), top, explain)
            for place, forecast in zip(places, forecasts, strict=True):
                results[place] = forecast
    return (result for result in results if result is not None)
