"""How many queries to score in one batch."""

import torch

BATCH_SIZES = {"cpu": 128, "cuda": 1024}
"""By device type: as many queries as fit into the cache of a CPU, and as many as keep a GPU busy."""


def default_batch_size(device: torch.device) -> int:
    """Return how many queries to score in one batch on a device.

    Args:
        device: The device of the model.

    Returns:
        The batch size to use where the caller gives none.
    """
    return BATCH_SIZES.get(device.type, 256)
