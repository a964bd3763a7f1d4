"""The environment: states, candidate actions, transitions (section 3.2 of the paper)."""

from typing import NamedTuple

import torch
from torch import Tensor

from titer.graph.history import History
from titer.models.titer.config import TITerConfig


class Actions(NamedTuple):
    """Candidate actions (r', e', t') of each walk: its latest edges, and at last the self-loop."""

    relation: Tensor  # (walks, actions)
    object: Tensor  # (walks, actions)
    time: Tensor  # (walks, actions)
    mask: Tensor  # (walks, actions) which of them exist


def candidate_actions(
    history: History, entity: Tensor, time: Tensor, asked: Tensor, config: TITerConfig, *, first: bool
) -> Actions:
    """A_l: the N latest outgoing edges of the nodes (e_l, t_l) that a walk about time ``asked`` may take."""
    # latest() is strict, so t' ≤ t_l is asked for as t' < t_l + 1; at the question's own time nothing may be seen.
    before = time if config.strictly_back else torch.minimum(time + 1, asked)
    edges = history.latest(entity, before, config.num_edges)
    stay = torch.ones_like(edges.mask[:, :1])
    if first and not config.may_stay_at_first:
        stay = ~edges.mask[:, :1]  # the latest edge comes first: without it there is no past at all
    loop = torch.full_like(entity, history.vocabulary.self_loop)
    return Actions(
        torch.cat([edges.relation, loop[:, None]], dim=1),
        torch.cat([edges.object, entity[:, None]], dim=1),
        torch.cat([edges.time, time[:, None]], dim=1),
        torch.cat([edges.mask, stay], dim=1),
    )


class Node(NamedTuple):
    """Where walks are, and over which relation they came."""

    relation: Tensor  # (walks,)
    entity: Tensor  # (walks,)
    time: Tensor  # (walks,)

    @classmethod
    def reached(cls, actions: Actions, choice: Tensor) -> "Node":
        """δ(s_l, a_l): the node at the end of the chosen action of each walk."""
        place = choice[:, None]
        return cls(*(column.gather(1, place)[:, 0] for column in actions[:3]))
