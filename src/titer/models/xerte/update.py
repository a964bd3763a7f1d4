"""Reverse update of the representations in a subgraph."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.models.xerte.config import XERTEConfig


class Link(NamedTuple):
    """The edges kept between the nodes of one expansion and those of the next."""

    source: Tensor  # (edges,) index of v among the nodes of the expansion
    target: Tensor  # (edges,) index of u among the nodes of the next one
    alpha: Tensor  # (edges,) α_vu


class Update(nn.Module):
    r"""The reverse update, from the nodes reached last through the nodes that led to them to the query's node.

    Formula:
        $$
        \begin{aligned}
        h'_u &= \mathrm{LeakyReLU}(W_h h_u + b) \quad \text{for nodes } u \text{ reached last} \\
        h'_v &= \mathrm{LeakyReLU}\Big(W_h \big(\gamma h_v + (1 - \gamma) \sum_u \alpha_{vu} h'_u\big) + b\Big) \\
        p' &= W_h p + b
        \end{aligned}
        $$

        \(\alpha\) is the attention of an edge at the time it was kept.
    """

    def __init__(self, config: XERTEConfig):
        super().__init__()
        self.gamma = config.gamma
        self.W_h = nn.Linear(config.node_dim, config.node_dim)

    def forward(self, hidden: list[Tensor], links: list[Link]) -> list[Tensor]:
        """Return h' of the nodes of every expansion, given their h and the links between expansions."""
        updated = [functional.leaky_relu(self.W_h(hidden[-1]))]
        for own, link in zip(reversed(hidden[:-1]), reversed(links), strict=True):
            message = link.alpha[:, None] * updated[-1].index_select(0, link.target)
            neighbours = torch.zeros_like(own).index_add(0, link.source, message)
            updated.append(functional.leaky_relu(self.W_h(self.gamma * own + (1 - self.gamma) * neighbours)))
        return updated[::-1]
