"""How many queries to score in one batch."""

from titer.models.base import Model

MIN_SIZE = 1024
MAX_SCORES = 1 << 27
"""Scores of a batch with more than ``MIN_SIZE`` queries."""


def default_batch_size(model: Model) -> int:
    """Return how many queries a model scores in one batch on its device.

    Args:
        model: The model.

    Returns:
        The batch size to use where the caller gives none.
    """
    size = model.scoring_batch_sizes.get(model.device.type, 256)
    # With many entities, the scores of a large batch would take gigabytes.
    return min(size, max(MIN_SIZE, MAX_SCORES // max(model.vocabulary.num_entities, 1)))
