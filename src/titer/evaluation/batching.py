"""How many queries to score in one batch."""

from titer.models.base import Model


def default_batch_size(model: Model) -> int:
    """Return how many queries a model scores in one batch on its device.

    Args:
        model: The model.

    Returns:
        The batch size to use where the caller gives none.
    """
    return model.scoring_batch_sizes.get(model.device.type, 256)
