"""One decision of the agent: score the candidate actions and sample one (section 3.3 of the paper).

This is the arithmetic of weighted action scoring, separate from the network that computes its inputs:

    β_n = sigmoid(g + ⟨w_e, e_n⟩ + ⟨w_r, r_n⟩ + ⟨w_t, Φ_n⟩)
    φ_n = β_n (⟨ẽ_e, e_n⟩ + ⟨ẽ_t, Φ_n⟩) + (1 - β_n) ⟨r̃, r_n⟩

where [ẽ_e; ẽ_t] = ẽ, Φ_n is the encoding of the action's time lag, and w_e, w_t, w_r are the parts of W_β.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from titer.models.titer.sampled import sampled_dots


class Candidates(NamedTuple):
    """The candidate actions of each walk, as rows of the tables in ``Scoring``."""

    rows: Tensor  # (walks, actions) of the entity table
    relations: Tensor  # (walks, actions)
    lags: Tensor  # (walks, actions)
    mask: Tensor  # (walks, actions) which actions exist


class Scoring(NamedTuple):
    """All inputs of the scores."""

    e_tilde: Tensor  # (walks, entity_dim + time_dim)
    r_tilde: Tensor  # (walks, relation_dim)
    gate: Tensor  # (walks,) g, the terms of β from the state and the query
    entity: Tensor  # (rows, entity_dim)
    relation: Tensor  # (relations, relation_dim)
    encoding: Tensor  # (lags, time_dim) Φ of every lag
    w_entity: Tensor  # (entity_dim,)
    w_relation: Tensor  # (relation_dim,)
    w_time: Tensor  # (time_dim,)


class ActionScores(NamedTuple):
    """Scores φ of candidate actions, -inf where there is no action, and their weights β."""

    phi: Tensor  # (walks, actions)
    beta: Tensor  # (walks, actions)


class Decision(NamedTuple):
    """The sampled action of each walk."""

    choice: Tensor  # (walks,)
    log_probability: Tensor  # (walks,) log π(choice)
    entropy: Tensor  # (walks,) of π


def score_actions(candidates: Candidates, scoring: Scoring, *, weighted: bool) -> ActionScores:
    """Return φ and β of every candidate. If not ``weighted``, β is 0.5."""
    size = scoring.entity.shape[1]
    of_node = sampled_dots(scoring.e_tilde[:, :size], scoring.entity, candidates.rows)
    of_edge = sampled_dots(scoring.r_tilde, scoring.relation, candidates.relations)
    if scoring.encoding.shape[1]:
        of_node = of_node + sampled_dots(scoring.e_tilde[:, size:], scoring.encoding, candidates.lags)
    if weighted:
        gate = scoring.gate[:, None] + _pick(scoring.entity @ scoring.w_entity, candidates.rows)
        gate = gate + _pick(scoring.relation @ scoring.w_relation, candidates.relations)
        if scoring.encoding.shape[1]:
            gate = gate + _pick(scoring.encoding @ scoring.w_time, candidates.lags)
        beta = torch.sigmoid(gate)
    else:
        beta = torch.full_like(of_edge, 0.5)
    phi = beta * of_node + (1 - beta) * of_edge
    return ActionScores(phi.masked_fill(~candidates.mask, -math.inf), beta)


def decide(candidates: Candidates, scoring: Scoring, noise: Tensor, *, weighted: bool) -> Decision:
    """Draw an action of each walk from π = softmax(φ).

    The action with the largest log π plus independent Gumbel noise is a sample from π. A walk without any action gets
    choice 0 with log π and entropy 0, and no gradient. Successive walks may share a row of candidates and scores.

    Args:
        candidates: The actions to choose from.
        scoring: The inputs of their scores.
        noise: Independent Gumbel noise, with one or several walks for each row of candidates. Shape
            ``(walks, actions)``.
        weighted: Whether β weights node scores against edge scores; otherwise β is 0.5.

    Returns:
        The choices, differentiable in their log probabilities and entropies.
    """
    phi = score_actions(candidates, scoring, weighted=weighted).phi
    # A row of -inf alone would become NaN, and so would the gradients of the tables that all walks share.
    log_pi = torch.log_softmax(phi.masked_fill(~candidates.mask.any(dim=1, keepdim=True), 0.0), dim=1)
    finite = log_pi.masked_fill(~candidates.mask, 0)
    entropy = -(log_pi.exp() * finite).sum(dim=1)
    drawn = log_pi.detach().masked_fill(~candidates.mask, -math.inf)
    if len(noise) > len(phi):
        times = len(noise) // len(phi)
        finite, entropy, drawn = (part.repeat_interleave(times, dim=0) for part in (finite, entropy, drawn))
    choice = (drawn + noise).argmax(dim=1)
    return Decision(choice, finite.gather(1, choice[:, None])[:, 0], entropy)


def gumbel_noise(like: Tensor) -> Tensor:
    """Return independent samples of -log(-log(u)), u uniform, in the shape of ``like``."""
    return -torch.log(-torch.log(torch.rand_like(like, dtype=torch.float32).clamp(1e-20, 1 - 1e-7)))


def _pick(values: Tensor, places: Tensor) -> Tensor:
    """Return ``values[places]``, with a gradient that is computed without sorting."""
    return values.index_select(0, places.flatten()).view(places.shape)
