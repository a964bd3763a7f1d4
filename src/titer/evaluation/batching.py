"""Which queries to score in one batch."""

from torch import Tensor

from titer.graph.queries import Queries
from titer.models.base import Model

LIMITS = {"cpu": (512, 1 << 24), "cuda": (1024, 1 << 27)}
"""By device type: the size that a batch may always have, and the number of scores of a larger one."""
MAX_CANDIDATES = 1 << 22
"""Given candidates in a batch: each has paths and features of its own, which take far more memory than its score."""
MAX_STATES = {"cpu": 1 << 18, "cuda": 1 << 21}
"""By device type, time steps of a batch times entities, for models that keep states of entities."""


def scoring_batches(
    model: Model, queries: Queries, batch_size: int | None = None, num_candidates: int | None = None
) -> list[tuple[Tensor, Queries]]:
    """Divide queries to score into batches in order of time.

    Args:
        model: The model.
        queries: The queries.
        batch_size: Maximum number of queries of a batch; by default what suits the model's device.
        num_candidates: How many entities are scored for each query; None for all.

    Returns:
        The rows of each batch, and its queries.
    """
    max_steps = None
    if model.keeps_entity_states and num_candidates is None:
        max_states = MAX_STATES.get(model.device.type, MAX_STATES["cuda"])
        max_steps = max(1, max_states // max(model.vocabulary.num_entities, 1))
    return list(queries.batches_in_time(batch_size or default_batch_size(model, num_candidates), max_steps))


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
