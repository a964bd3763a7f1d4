"""Sampled walks on a GPU, with a gradient that is written out.

The recurrence of a walk is short and narrow, so that the time of a step is that of its number of kernels. Written out,
the gradient needs no copies of slices and no sums over hops: tables receive the gradients of all hops in place, and the
gradient of a matrix is one product over all hops. ``roll_out.reference_roll_out`` computes the same.

The input of the path encoder is the row [r_l; e_l; Φ(t_q - t_l); h_{l-1}]. The query's terms of W_1 and W_β are a
product with a row of the same form, [r_q; e_q; Φ(0)]. So rows 0 and 1 of all arrays belong to the query and to the
start of the walk, and row l + 2 to the node after hop l.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.titer import roll_out_triton, state_triton
from titer.models.titer.config import TITerConfig
from titer.models.titer.policy import Policy
from titer.models.titer.roll_out import Walks
from titer.models.titer.walk import Node
from titer.models.titer.walk_settings import WalkSettings


class Draws(NamedTuple):
    """Everything that is random in the walks of a batch."""

    uniform: Tensor  # (L, walks, N + 1) which become Gumbel noise
    inputs: Tensor | None  # (L - 1, walks, relation_dim + node_dim) factors of dropout
    hidden: Tensor | None  # (L, walks, hidden_dim)


def draw(policy: Policy, queries: Queries) -> Draws:
    """Return the random numbers of the walks of a batch."""
    config, count = policy.config, len(queries)
    ones, rate = policy.entity.new_ones, config.dropout
    uniform = torch.rand(config.path_length, count, config.num_edges + 1, device=policy.entity.device)
    if not (rate and policy.training):
        return Draws(uniform, None, None)
    width = config.relation_dim + config.node_dim
    return Draws(
        uniform,
        functional.dropout(ones(config.path_length - 1, count, width), rate),
        functional.dropout(ones(config.path_length, count, config.hidden_dim), rate),
    )


class WalkWeights(NamedTuple):
    """The weights of the policy in the form that the walks use."""

    entity: Tensor  # (entities, entity_dim)
    relation: Tensor  # (relation ids, relation_dim)
    encoding: Tensor  # (lags, time_dim) Φ of every lag
    gates: Tensor  # (4 state_dim, relation_dim + node_dim + state_dim) of the LSTM
    gates_bias: Tensor
    query: Tensor  # (hidden_dim + 1, relation_dim + node_dim) the terms of W_1 and W_β from the query
    query_bias: Tensor
    state: Tensor  # (hidden_dim + 1, state_dim) the terms of W_1 and W_β from h
    out: Tensor  # (node_dim + relation_dim, hidden_dim) W_e and W_r
    out_bias: Tensor
    action: Tensor  # (node_dim + relation_dim,) the terms of W_β from the action

    @classmethod
    def of(cls, policy: Policy, num_lags: int) -> "WalkWeights":
        """Return the weights, connected to the parameters of the policy."""
        config, lstm = policy.config, policy.lstm
        state, node, relation = config.state_dim, config.node_dim, config.relation_dim
        beta, of_action = policy.W_beta.weight.split([state + node + relation, node + relation], dim=1)
        both = torch.cat([policy.W_1.weight, beta])
        of_state, of_node, of_relation = both.split([state, node, relation], dim=1)
        return cls(
            policy.entity,
            policy.relation,
            policy.encodings(num_lags),
            torch.cat([lstm.weight_ih, lstm.weight_hh], dim=1),
            lstm.bias_ih + lstm.bias_hh,
            torch.cat([of_relation, of_node], dim=1),
            torch.cat([policy.W_1.bias, policy.W_beta.bias]),
            of_state.contiguous(),
            torch.cat([policy.W_e.weight, policy.W_r.weight]),
            torch.cat([policy.W_e.bias, policy.W_r.bias]),
            of_action[0],
        )


def fused_roll_out(policy: Policy, queries: Queries, history: History, draws: Draws) -> Walks:
    """Return what ``roll_out.reference_roll_out`` returns for the same random numbers."""
    settings = WalkSettings.of(policy.config, policy.start, history)
    weights = WalkWeights.of(policy, history.num_steps)
    relation, entity, time, log_probability, entropy = _RollOut.apply(settings, queries, history, draws, *weights)
    return Walks(Node(relation, entity, time), log_probability.T, entropy.T)


class _RollOut(torch.autograd.Function):
    """The ends of the walks, and log π and the entropy of π for every hop."""

    @staticmethod
    def forward(
        ctx: Any, settings: WalkSettings, queries: Queries, history: History, draws: Draws, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        weights = WalkWeights(*(tensor.contiguous() for tensor in tensors))
        sizes = settings.config
        saved = Saved.empty(sizes, len(queries), weights.entity)
        roll_out_triton.begin(settings, queries, weights, saved)
        context = torch.addmm(weights.query_bias, saved.inputs[0, :, : weights.query.shape[1]], weights.query.T)
        for hop in range(sizes.path_length):
            torch.addmm(weights.gates_bias, saved.inputs[hop + 1], weights.gates.T, out=saved.gates[hop])
            state_triton.cell(settings, saved, hop)
            torch.addmm(context, saved.h[hop], weights.state.T, out=saved.scored[hop])
            state_triton.hidden(saved, draws.hidden, hop)
            torch.addmm(weights.out_bias, saved.hidden[hop], weights.out.T, out=saved.out[hop])
            roll_out_triton.choose(settings, history, draws, weights, saved, hop)
        ctx.save_for_backward(*weights, *saved)
        ctx.settings, ctx.history, ctx.draws = settings, history, draws
        end = tuple(column[-1] for column in (saved.relation, saved.entity, saved.time))
        ctx.mark_non_differentiable(*end)
        return *end, saved.log_probability, saved.entropy

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        count = len(WalkWeights._fields)
        weights, saved = WalkWeights(*ctx.saved_tensors[:count]), Saved(*ctx.saved_tensors[count:])
        settings, draws = ctx.settings, ctx.draws
        of_log, of_entropy = (gradient.contiguous() for gradient in gradients[3:])
        tables = Tables(*(torch.zeros_like(table) for table in weights[:3]))
        grad = Gradients.empty(saved)
        for hop in reversed(range(settings.config.path_length)):
            roll_out_triton.choose_backward(
                settings, ctx.history, weights, saved, of_log, of_entropy, grad, tables, hop
            )
            of_hidden = grad.out[hop] @ weights.out
            state_triton.hidden_backward(saved, draws.hidden, of_hidden, grad, hop)
            of_state = grad.scored[hop] @ weights.state
            state_triton.cell_backward(settings, saved, of_state, grad, hop)
            torch.mm(grad.gates[hop], weights.gates, out=grad.inputs[hop + 1])
        of_context = grad.scored.sum(dim=0)
        width = weights.query.shape[1]
        torch.mm(of_context, weights.query, out=grad.inputs[0, :, :width])
        roll_out_triton.scatter(settings, saved, draws.inputs, grad, tables)
        gates, scored, out = grad.gates.flatten(0, 1), grad.scored.flatten(0, 1), grad.out.flatten(0, 1)
        return (
            None, None, None, None,
            *tables,
            gates.T @ saved.inputs[1:].flatten(0, 1), gates.sum(dim=0),
            of_context.T @ saved.inputs[0, :, :width], of_context.sum(dim=0),
            scored.T @ saved.h.flatten(0, 1),
            out.T @ saved.hidden.flatten(0, 1), out.sum(dim=0),
            grad.action.flatten(0, 1).sum(dim=0),
        )  # fmt: skip


class Saved(NamedTuple):
    """Everything that the forward pass computes, with a row for every walk."""

    relation: Tensor  # (L + 2, walks)
    entity: Tensor  # (L + 2, walks)
    time: Tensor  # (L + 2, walks)
    inputs: Tensor  # (L + 1, walks, relation_dim + node_dim + state_dim)
    gates: Tensor  # (L, walks, 4 state_dim) i, f, g and o
    h: Tensor  # (L, walks, state_dim)
    c: Tensor  # (L, walks, state_dim)
    scored: Tensor  # (L, walks, hidden_dim + 1) the hidden layer before its activation, and g of β
    hidden: Tensor  # (L, walks, hidden_dim)
    out: Tensor  # (L, walks, node_dim + relation_dim) ẽ and r̃
    stop: Tensor  # (L, walks) the position after the node's latest candidate edge
    choice: Tensor  # (L, walks)
    log_probability: Tensor  # (L, walks)
    entropy: Tensor  # (L, walks)

    @classmethod
    def empty(cls, config: TITerConfig, walks: int, like: Tensor) -> "Saved":
        """Return arrays to be filled."""
        hops, width = config.path_length, config.relation_dim + config.node_dim
        ids = like.new_empty(3 * (hops + 2) + 2 * hops, walks, dtype=torch.int64)
        relation, entity, time, stop, choice = ids.split([hops + 2] * 3 + [hops] * 2)
        new = like.new_empty
        return cls(
            relation,
            entity,
            time,
            new(hops + 1, walks, width + config.state_dim),
            new(hops, walks, 4 * config.state_dim),
            new(hops, walks, config.state_dim),
            new(hops, walks, config.state_dim),
            new(hops, walks, config.hidden_dim + 1),
            new(hops, walks, config.hidden_dim),
            new(hops, walks, width),
            stop,
            choice,
            new(hops, walks),
            new(hops, walks),
        )


class Tables(NamedTuple):
    """Gradients of the tables, to which all hops add."""

    entity: Tensor
    relation: Tensor
    encoding: Tensor


class Gradients(NamedTuple):
    """Gradients of what the forward pass computes."""

    inputs: Tensor
    gates: Tensor
    c: Tensor  # (walks, state_dim) of the cell after the hop
    kept: Tensor  # (walks, state_dim) of h through frozen states
    scored: Tensor
    out: Tensor
    action: Tensor  # (L, walks, node_dim + relation_dim) of the action's part of W_β, by walk

    @classmethod
    def empty(cls, saved: Saved) -> "Gradients":
        """Return arrays to be filled."""
        empty, state = torch.empty_like, torch.empty_like(saved.h[0])
        return cls(
            empty(saved.inputs),
            empty(saved.gates),
            state,
            empty(state),
            empty(saved.scored),
            empty(saved.out),
            empty(saved.out),
        )
