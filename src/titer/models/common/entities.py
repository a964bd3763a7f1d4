"""Entities that were added to the vocabulary after training."""

import torch
from torch import Tensor
from torch.nn import functional

from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED


def append_mean_rows(table: Tensor, history: History) -> Tensor:
    """Append the mean row of a table for each entity added after training. (entities of the history, dim)"""
    num_added = history.vocabulary.num_entities - len(table)
    return torch.cat([table, table.mean(dim=0, keepdim=True).expand(num_added, -1)]) if num_added else table


def mask_unseen(scores: Tensor, queries: Queries, num_trained: int, history: History) -> Tensor:
    """Exclude entities that were added after training and have no fact before the query. (queries, num_entities)"""
    num_entities = history.vocabulary.num_entities
    if num_entities == num_trained:
        return scores
    added = torch.arange(num_trained, num_entities, device=scores.device)
    unknown = ~history.are_known(added, queries.time)
    return scores.masked_fill(functional.pad(unknown, (num_trained, 0)), UNREACHED)
