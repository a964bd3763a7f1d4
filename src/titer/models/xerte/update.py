"""How news travels back through a subgraph."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.models.xerte.config import XERTEConfig


class Link(NamedTuple):
    """The edges that were kept between the nodes of one step and those of the next."""

    source: Tensor  # (edges,) the place of v among the nodes of the step
    target: Tensor  # (edges,) the place of u among those of the next
    alpha: Tensor  # (edges,) α_vu


class Update(nn.Module):
    r"""The reverse update: the nodes reached last tell those that led to them, and so on back to the question's.

    .. math::
        h'_u &= \mathrm{LeakyReLU}(W_h h_u + b) \quad \text{for nodes u reached last} \\
        h'_v &= \mathrm{LeakyReLU}\Big(W_h \big(\gamma h_v + (1 - \gamma) \sum_u \alpha_{vu} h'_u\big) + b\Big), \qquad
        p' = W_h p + b

    α is what an edge had when it was kept.
    """

    def __init__(self, config: XERTEConfig):
        super().__init__()
        self.gamma = config.gamma
        self.W_h = nn.Linear(config.node_dim, config.node_dim)

    def forward(self, hidden: list[Tensor], links: list[Link]) -> list[Tensor]:
        """h' of the nodes of every step, given their h and what links each step to the next."""
        told = [functional.leaky_relu(self.W_h(hidden[-1]))]
        for before, link in zip(reversed(hidden[:-1]), reversed(links), strict=True):
            message = link.alpha[:, None] * told[-1].index_select(0, link.target)
            heard = torch.zeros_like(before).index_add(0, link.source, message)
            told.append(functional.leaky_relu(self.W_h(self.gamma * before + (1 - self.gamma) * heard)))
        return told[::-1]
