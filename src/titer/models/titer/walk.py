"""The environment: states, candidate actions and transitions (section 3.2 of the paper)."""

from typing import NamedTuple

import torch
from torch import Tensor

from titer.graph.history import History
from titer.models.titer.config import TITerConfig


class Actions(NamedTuple):
    """Candidate actions (r', e', t') of each walk: the latest edges of its node, and last the self-loop."""

    relation: Tensor  # (walks, actions)
    object: Tensor  # (walks, actions)
    time: Tensor  # (walks, actions)
    mask: Tensor  # (walks, actions) where there is an action


def candidate_actions(
    history: History, entity: Tensor, time: Tensor, query_time: Tensor, config: TITerConfig, *, first: bool
) -> Actions:
    """Return A_l: the N latest outgoing edges of the nodes (e_l, t_l), and the self-loop.

    With ``loop_counts_as_edge``, N counts the self-loop where it is a candidate.

    Args:
        history: The known facts. No fact at or after the time of its query is a candidate.
        entity: e_l of each walk.
        time: t_l of each walk.
        query_time: t_q of each walk.
        config: The settings of the model.
        first: Whether this is the first hop, where the self-loop may be excluded.

    Returns:
        The candidates. Each walk has at least one.
    """
    # latest() is strict, so t' ≤ t_l is written as t' < t_l + 1; facts at the query's own time stay hidden.
    before = time if config.strictly_back else torch.minimum(time + 1, query_time)
    must_leave = first and not config.may_stay_at_first
    limit = config.num_edges - int(config.loop_counts_as_edge and not must_leave)
    edges = history.latest(entity, before, limit)
    stay = torch.ones_like(edges.mask[:, :1])
    if must_leave:
        stay = ~edges.mask[:, :1]  # edges are sorted: without a first one there is none
    loop = torch.full_like(entity, history.vocabulary.self_loop)
    return Actions(
        torch.cat([edges.relation, loop[:, None]], dim=1),
        torch.cat([edges.object, entity[:, None]], dim=1),
        torch.cat([edges.time, time[:, None]], dim=1),
        torch.cat([edges.mask, stay], dim=1),
    )


class Node(NamedTuple):
    """The node that each walk has reached, and the relation of its last hop."""

    relation: Tensor  # (walks,)
    entity: Tensor  # (walks,)
    time: Tensor  # (walks,)

    @classmethod
    def reached(cls, actions: Actions, choice: Tensor) -> "Node":
        """Return δ(s_l, a_l): the node at the end of the chosen action of each walk."""
        place = choice[:, None]
        return cls(*(column.gather(1, place)[:, 0] for column in actions[:3]))
