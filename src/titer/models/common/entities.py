"""Tables with a row for every entity of training, and the entities that came after it."""

import torch
from torch import Tensor
from torch.nn import functional

from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED


def append_mean_rows(table: Tensor, history: History) -> Tensor:
    """The table, with the mean of its rows for each entity that came after training. (entities of the history, dim)"""
    newcomers = history.vocabulary.num_entities - len(table)
    return torch.cat([table, table.mean(dim=0, keepdim=True).expand(newcomers, -1)]) if newcomers else table


def mask_unseen(scores: Tensor, queries: Queries, num_trained: int, history: History) -> Tensor:
    """The scores, with nothing to say about names that came after training and had no fact before the question."""
    num_entities = history.vocabulary.num_entities
    if num_entities == num_trained:
        return scores
    newcomers = torch.arange(num_trained, num_entities, device=scores.device)
    unheard_of = ~history.are_known(newcomers, queries.time)
    return scores.masked_fill(functional.pad(unheard_of, (num_trained, 0)), UNREACHED)
