"""How many queries to score in one batch."""

from titer.models.base import Model

LIMITS = {"cpu": (512, 1 << 24), "cuda": (1024, 1 << 27)}
"""By device type: the size that a batch may always have, and the number of scores of a larger one."""
MAX_CANDIDATES = 1 << 22
"""Given candidates in a batch: each has paths and features of its own, which take far more memory than its score."""


def default_batch_size(model: Model, num_candidates: int | None = None) -> int:
    """Return how many queries a model scores in one batch on its device.

    Args:
        model: The model.
        num_candidates: How many entities are scored for each query; None for all.

    Returns:
        The batch size to use where the caller gives none.
    """
    size = model.scoring_batch_sizes.get(model.device.type, 256)
    # With many entities, the scores of a large batch would take gigabytes.
    min_size, max_scores = LIMITS.get(model.device.type, LIMITS["cuda"])
    if num_candidates is None:
        num_candidates = model.vocabulary.num_entities
    else:
        max_scores = min(max_scores, MAX_CANDIDATES)
    return min(size, max(min_size, max_scores // max(num_candidates, 1)))
