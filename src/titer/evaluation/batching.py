"""How many queries to score in one batch."""

from titer.models.base import Model

MIN_SIZES = {"cpu": 512}
MIN_SIZE = 1024
"""Size that a batch may always have; by device type, if it is another."""
MAX_SCORES_ON = {"cpu": 1 << 24}
MAX_SCORES = 1 << 27
"""Scores of a larger batch; by device type, if it is another."""


def default_batch_size(model: Model) -> int:
    """Return how many queries a model scores in one batch on its device.

    Args:
        model: The model.

    Returns:
        The batch size to use where the caller gives none.
    """
    size = model.scoring_batch_sizes.get(model.device.type, 256)
    # With many entities, the scores of a large batch would take gigabytes.
    kind, num_entities = model.device.type, max(model.vocabulary.num_entities, 1)
    return min(size, max(MIN_SIZES.get(kind, MIN_SIZE), MAX_SCORES_ON.get(kind, MAX_SCORES) // num_entities))
