"""Tables with a row for every entity of training, and the entities that came after it."""

import torch
from torch import Tensor
from torch.nn import functional

from titer.graph.history import History
from titer.graph.queries import Queries


def with_newcomers(table: Tensor, history: History) -> Tensor:
    """The table, with the mean of its rows for each entity that came after training. (entities of the history, dim)"""
    newcomers = history.vocabulary.num_entities - len(table)
    return torch.cat([table, table.mean(dim=0, keepdim=True).expand(newcomers, -1)])


def only_heard_of(scores: Tensor, queries: Queries, num_trained: int, history: History) -> Tensor:
    """The scores, with nothing to say about names that came after training and had no fact before the question."""
    newcomers = torch.arange(num_trained, history.vocabulary.num_entities, device=scores.device)
    if len(newcomers) == 0:
        return scores
    entity = newcomers.repeat(len(queries))
    known = history.count_before(entity, queries.time.repeat_interleave(len(newcomers))) > 0
    heard_of = functional.pad(known.view(len(queries), -1), (num_trained, 0), value=True)
    return scores.masked_fill(~heard_of, float("-inf"))
