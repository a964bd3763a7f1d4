"""Base class of models that distinguish entities with facts in training from unseen ones."""

from typing import Any

import torch
from torch import Tensor

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.models.base import Model


class TracksTrainedEntities(Model):
    """A model that records which entities have a fact in the training split."""

    trained: Tensor  # (num_entities,) booleans; all True before ``prepare``

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: Any = None):
        super().__init__(vocabulary, axis, config)
        self.register_buffer("trained", torch.ones(vocabulary.num_entities, dtype=torch.bool))

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Record which entities have a fact in training."""
        self.trained.copy_(torch.from_numpy(train.mentions(self.vocabulary.num_entities)))
