"""Small path mixtures with random weights."""

from typing import Any

import torch

from strategies import Graph
from titer.data.time_axis import TimeAxis
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.fit import Fit
from titer.models.path_mixture.mixture import Mixture
from titer.models.path_mixture.model import PathMixture

SMALL: dict[str, Any] = {"dim": 8, "relation_dim": 8, "hidden_dim": 8, "rank": 4, "first_edges": 8, "second_edges": 8}


def mixture(graph: Graph, **settings) -> PathMixture:
    torch.manual_seed(0)
    model = PathMixture(graph.vocabulary, TimeAxis(), PathMixtureConfig(**{**SMALL, **settings})).eval()
    with torch.no_grad():  # equal weights would hide a mix-up
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def fit_of(model: PathMixture) -> Fit:
    only = model.mixtures[0]
    assert isinstance(only, Mixture)
    assert only.prior.fit is not None
    return only.prior.fit
