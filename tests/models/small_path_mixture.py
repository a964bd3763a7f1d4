"""Small path mixtures with random weights."""

from typing import Any

import torch

from strategies import Graph
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.fit import Fit
from titer.models.path_mixture.mixture import Mixture
from titer.models.path_mixture.model import PathMixture

SMALL: dict[str, Any] = {"dim": 8, "relation_dim": 8, "hidden_dim": 8, "rank": 4, "first_edges": 8, "second_edges": 8}
KINDS = ("direct", "two_hops", "same_relation", "trust", "prior", "names")
"""The parts of the model that can be switched off."""


def mixture(graph: Graph, **settings) -> PathMixture:
    torch.manual_seed(0)
    model = PathMixture(graph.vocabulary, TimeAxis(), PathMixtureConfig(**{**SMALL, **settings})).eval()
    with torch.no_grad():  # equal weights would hide a mix-up
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def random_model(vocabulary: Vocabulary, train: Facts, **settings: Any) -> PathMixture:
    """A prepared model that does not drop anything in training, and does not follow all edges."""
    torch.manual_seed(0)
    limits = {"first_edges": 6, "second_edges": 5, "dropout": 0.0, "entity_dropout": 0.0}
    model = PathMixture(vocabulary, TimeAxis(), PathMixtureConfig(**{**SMALL, **limits, **settings}))
    model.prepare(train, Facts.empty())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def gradients(model: PathMixture, loss: torch.Tensor) -> dict[str, torch.Tensor]:
    found = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    names = [name for name, _ in model.named_parameters()]
    return {
        name: torch.zeros_like(parameter) if each is None else each.to_dense()
        for name, parameter, each in zip(names, model.parameters(), found, strict=True)
    }


def fit_of(model: PathMixture) -> Fit:
    only = model.mixtures[0]
    assert isinstance(only, Mixture)
    assert only.prior.fit is not None
    return only.prior.fit
