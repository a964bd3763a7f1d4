"""The few parameters that are chosen on the validation split: they combine intensities and calibrate them."""

import math

import torch
from torch import Tensor, nn

from titer.events.estimates import Estimates
from titer.events.network import MAX_LOG_INTENSITY, negative_log_likelihood
from titer.training.optimisers import EagerLBFGS

HORIZONS = (1, 7, 30)
"""Steps ahead, and lengths of windows, at which parameters are fitted; between them they are interpolated."""
NUM_REPEATED, NUM_NEW = 6, 8
RIDGE = 1.0
"""Strength of the pull of the parameters towards their defaults, in nats."""
MAX_DIFFERENCE = 4.0
KNOTS = (-1.5, -0.6, 0.1, 0.7)
"""Log intensities at which the slope of a map may change: probabilities of about 20 %, 40 %, 70 % and 90 %."""
NUM_MAP = 2 + len(KNOTS)
MIN_SLOPE = 0.2
"""Smallest slope of a map, so that what is more likely stays so."""


class Calibration(nn.Module):
    """Parameters of the combination at each horizon.

    A fact that occurred before has the intensity λ of the network, and two more estimates through the model: the
    intensity of its subject and relation times P(object), and that of its object and relation times P(subject). Their
    logarithms are combined linearly. So are those of a fact that never occurred, if its entities had other facts with
    each other; any other fact that never occurred has only the latter two. A piecewise linear map of the
    result calibrates it, and another one the logarithm of the summed intensity of a window.
    """

    repeated: Tensor  # (horizons, NUM_REPEATED)
    paired: Tensor  # (horizons, NUM_REPEATED)
    new: Tensor  # (horizons, NUM_NEW)
    step: Tensor  # (horizons, NUM_MAP)
    window: Tensor  # (horizons, NUM_MAP)
    unlisted: Tensor  # (horizons,) events that never occurred, per expected event of this kind

    def __init__(self) -> None:
        super().__init__()
        number = len(HORIZONS)
        self.register_buffer("repeated", default_repeated().repeat(number, 1))
        self.register_buffer("paired", default_repeated().repeat(number, 1))
        self.register_buffer("new", default_new().repeat(number, 1))
        self.register_buffer("step", default_map().repeat(number, 1))
        self.register_buffer("window", default_map().repeat(number, 1))
        self.register_buffer("unlisted", torch.ones(number))

    def at(self, parameters: Tensor, steps: int) -> Tensor:
        """Return parameters at a number of steps, interpolated in its logarithm."""
        place = [math.log(horizon) for horizon in HORIZONS]
        x = min(max(math.log(max(steps, 1)), place[0]), place[-1])
        upper = next(i for i in range(1, len(place)) if x <= place[i])
        share = (x - place[upper - 1]) / (place[upper] - place[upper - 1])
        return parameters[upper - 1] * (1 - share) + parameters[upper] * share


def default_repeated() -> Tensor:
    """Return parameters that leave the intensities of repeated facts as they are."""
    return torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0, 0.0])


def default_map() -> Tensor:
    """Return parameters of the map that leaves log intensities as they are."""
    return torch.tensor([0.0, 1.0, *(0.0 for _ in KNOTS)])


def default_new() -> Tensor:
    """Return parameters that average the estimates of new facts on a logarithmic scale."""
    return torch.tensor([0.0, 1.0, 0.0, 1.0, 0.0, 0.5, 0.5, 0.0])


def repeated_inputs(log_intensity: Tensor, first: Tensor, estimates: Estimates) -> Tensor:
    """Return the terms of the combination for facts that occurred before. (facts, NUM_REPEATED)

    Args:
        log_intensity: Of the network, in the step that is forecast. Shape (facts,).
        first: The same in the first forecast step, which the estimates are about. Shape (facts,).
        estimates: Of the facts through the model.
    """
    flags = estimates.known.float()
    # Compared in the same step: what is due on another day is not less likely on its own day.
    differences = torch.stack([estimates.forward - first, estimates.backward - first], dim=1)
    differences = differences.clamp(-MAX_DIFFERENCE, MAX_DIFFERENCE) * flags
    one = torch.ones_like(log_intensity)[:, None]
    return torch.cat([one, log_intensity[:, None], differences, flags], dim=1)


def map_inputs(log_intensity: Tensor) -> Tensor:
    """Return the terms of a piecewise linear map. (facts, NUM_MAP)"""
    above = [(log_intensity - knot).clamp(min=0) for knot in KNOTS]
    return torch.stack([torch.ones_like(log_intensity), log_intensity, *above], dim=1)


def fit_map(log_intensity: Tensor, happened: Tensor, weight: Tensor | None = None, *, ridge: float = RIDGE) -> Tensor:
    """Return the increasing map that makes what happened most likely."""
    found = fit_linear(map_inputs(log_intensity), happened, default_map(), weight, ridge=ridge)
    slope = 0.0
    for place in range(1, NUM_MAP):
        found[place] = max(float(found[place]), MIN_SLOPE - slope)
        slope += float(found[place])
    return found


def new_inputs(estimates: Estimates) -> Tensor:
    """Return the terms of the combination for facts that never occurred. (facts, NUM_NEW)"""
    forward, backward = estimates.forward, estimates.backward
    first, second = estimates.known[:, 0], estimates.known[:, 1]
    zero, columns = torch.zeros_like(forward), list[Tensor]()
    for chosen, values in ((first & ~second, (forward,)), (second & ~first, (backward,))):
        columns += [chosen.float(), *(torch.where(chosen, value, zero) for value in values)]
    both = first & second
    columns += [both.float(), torch.where(both, forward, zero), torch.where(both, backward, zero)]
    columns.append(torch.where(both, (forward - backward).abs().clamp(max=MAX_DIFFERENCE), zero))
    return torch.stack(columns, dim=1)


def fit_linear(
    inputs: Tensor, happened: Tensor, default: Tensor, weight: Tensor | None = None, *, ridge: float = RIDGE
) -> Tensor:
    """Return the parameters whose combination makes what happened most likely, near their defaults."""
    if not bool(happened.any()):
        return default.to(inputs.device)
    inputs, start = inputs.double(), default.double().to(inputs.device)
    parameters = start.clone().requires_grad_()
    optimiser = EagerLBFGS([parameters], max_iter=60, line_search_fn="strong_wolfe")
    scale = 1 / float(happened.sum())

    def closure() -> Tensor:
        optimiser.zero_grad()
        errors = negative_log_likelihood((inputs @ parameters).clamp(max=MAX_LOG_INTENSITY), happened)
        errors = errors if weight is None else errors * weight
        loss = (errors.sum() + ridge * (parameters - start).square().sum()) * scale
        loss.backward()
        return loss

    with torch.enable_grad():
        optimiser.step(closure)
    found = parameters.detach().float()
    return found if bool(torch.isfinite(found).all()) else default.to(found.device)
