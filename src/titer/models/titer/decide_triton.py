"""Scoring, softmax and sampling of one hop as a Triton kernel, and its gradient as another.

The kernels compute the same as ``decide.reference_decide`` without writing scores, probabilities or anything else of
size (walks, actions) to memory. One program handles one walk. ``grad_`` marks the gradient of a value.
"""
# pyright: reportMissingImports=false, reportIndexIssue=false
# ruff: noqa: N803 - constants of Triton kernels are in capitals

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _part(x, weight, table, index, dim, inside, exists, SIZE: tl.constexpr):
    """Return rows of a table, and their products with the vector of the walk and with the vector of the gate."""
    rows = tl.load(table + index[:, None] * SIZE + dim[None, :], mask=exists[:, None] & inside[None, :], other=0.0)
    return rows, tl.sum(rows * x[None, :], axis=1), tl.sum(rows * weight[None, :], axis=1)


@triton.jit
def _forward_kernel(
    e_tilde, r_tilde, gate_state, entity, relation, encoding, gate_entity, gate_relation, gate_time,
    rows, relations, lags, mask, noise, choice_out, log_out, entropy_out, num_actions,
    ENTITY: tl.constexpr, RELATION: tl.constexpr, TIME: tl.constexpr, WEIGHTED: tl.constexpr,
    BLOCK_E: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_T: tl.constexpr, ACTIONS: tl.constexpr,
):  # fmt: skip
    walk = tl.program_id(0).to(tl.int64)
    action = tl.arange(0, ACTIONS)
    place = walk * num_actions + action
    exists = action < num_actions
    allowed = tl.load(mask + place, mask=exists, other=0) != 0
    e, r, t = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_R), tl.arange(0, BLOCK_T)
    in_e, in_r, in_t = e < ENTITY, r < RELATION, t < TIME
    x_e = tl.load(e_tilde + walk * (ENTITY + TIME) + e, mask=in_e, other=0.0)
    x_t = tl.load(e_tilde + walk * (ENTITY + TIME) + ENTITY + t, mask=in_t, other=0.0)
    x_r = tl.load(r_tilde + walk * RELATION + r, mask=in_r, other=0.0)
    w_e = tl.load(gate_entity + e, mask=in_e, other=0.0)
    w_t = tl.load(gate_time + t, mask=in_t, other=0.0)
    w_r = tl.load(gate_relation + r, mask=in_r, other=0.0)
    row = tl.load(rows + place, mask=exists, other=0)
    _, node, gate = _part(x_e, w_e, entity, row, e, in_e, exists, ENTITY)
    index = tl.load(relations + place, mask=exists, other=0)
    _, edge, gate_r = _part(x_r, w_r, relation, index, r, in_r, exists, RELATION)
    lag = tl.load(lags + place, mask=exists, other=0)
    _, node_t, gate_t = _part(x_t, w_t, encoding, lag, t, in_t, exists, TIME)
    node += node_t
    beta = tl.sigmoid(gate + gate_r + gate_t + tl.load(gate_state + walk)) if WEIGHTED else 0.5
    phi = tl.where(allowed, beta * node + (1 - beta) * edge, float("-inf"))
    top = tl.max(phi, axis=0)
    log_pi = phi - top - tl.log(tl.sum(tl.exp(phi - top), axis=0))
    drawn = tl.where(allowed, log_pi + tl.load(noise + place, mask=exists, other=0.0), float("-inf"))
    choice = tl.argmax(drawn, axis=0)
    finite = tl.where(allowed, log_pi, 0.0)
    tl.store(choice_out + walk, choice.to(tl.int64))
    tl.store(log_out + walk, tl.sum(tl.where(action == choice, finite, 0.0), axis=0))
    tl.store(entropy_out + walk, -tl.sum(tl.where(allowed, tl.exp(log_pi), 0.0) * finite, axis=0))


@triton.jit
def _backward_part(
    rows, x, weight, grad_dot, grad_gate, grad_table, grad_weight, index, dim, inside, exists, SIZE: tl.constexpr
):
    """Add the gradients of two products to those of the table and the gate; return that of the walk's vector."""
    change = grad_dot[:, None] * x[None, :] + grad_gate[:, None] * weight[None, :]
    keep = (exists & ((grad_dot != 0) | (grad_gate != 0)))[:, None] & inside[None, :]
    tl.atomic_add(grad_table + index[:, None] * SIZE + dim[None, :], change, mask=keep, sem="relaxed")
    tl.atomic_add(grad_weight + dim, tl.sum(rows * grad_gate[:, None], axis=0), mask=inside, sem="relaxed")
    return tl.sum(rows * grad_dot[:, None], axis=0)


@triton.jit
def _backward_kernel(
    e_tilde, r_tilde, gate_state, entity, relation, encoding, gate_entity, gate_relation, gate_time,
    rows, relations, lags, mask, choice, grad_log, grad_entropy,
    grad_e_tilde, grad_r_tilde, grad_gate_state, grad_entity, grad_relation, grad_encoding,
    grad_gate_entity, grad_gate_relation, grad_gate_time, num_actions,
    ENTITY: tl.constexpr, RELATION: tl.constexpr, TIME: tl.constexpr, WEIGHTED: tl.constexpr,
    BLOCK_E: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_T: tl.constexpr, ACTIONS: tl.constexpr,
):  # fmt: skip
    walk = tl.program_id(0).to(tl.int64)
    action = tl.arange(0, ACTIONS)
    place = walk * num_actions + action
    exists = action < num_actions
    allowed = tl.load(mask + place, mask=exists, other=0) != 0
    e, r, t = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_R), tl.arange(0, BLOCK_T)
    in_e, in_r, in_t = e < ENTITY, r < RELATION, t < TIME
    x_e = tl.load(e_tilde + walk * (ENTITY + TIME) + e, mask=in_e, other=0.0)
    x_t = tl.load(e_tilde + walk * (ENTITY + TIME) + ENTITY + t, mask=in_t, other=0.0)
    x_r = tl.load(r_tilde + walk * RELATION + r, mask=in_r, other=0.0)
    w_e = tl.load(gate_entity + e, mask=in_e, other=0.0)
    w_t = tl.load(gate_time + t, mask=in_t, other=0.0)
    w_r = tl.load(gate_relation + r, mask=in_r, other=0.0)
    row = tl.load(rows + place, mask=exists, other=0)
    rows_e, node, gate = _part(x_e, w_e, entity, row, e, in_e, exists, ENTITY)
    index = tl.load(relations + place, mask=exists, other=0)
    rows_r, edge, gate_r = _part(x_r, w_r, relation, index, r, in_r, exists, RELATION)
    lag = tl.load(lags + place, mask=exists, other=0)
    rows_t, node_t, gate_t = _part(x_t, w_t, encoding, lag, t, in_t, exists, TIME)
    node += node_t
    beta = tl.sigmoid(gate + gate_r + gate_t + tl.load(gate_state + walk)) if WEIGHTED else gate * 0 + 0.5
    phi = tl.where(allowed, beta * node + (1 - beta) * edge, float("-inf"))
    top = tl.max(phi, axis=0)
    log_pi = phi - top - tl.log(tl.sum(tl.exp(phi - top), axis=0))
    pi = tl.where(allowed, tl.exp(log_pi), 0.0)
    finite = tl.where(allowed, log_pi, 0.0)
    entropy = -tl.sum(pi * finite, axis=0)
    chosen = tl.where(action == tl.load(choice + walk), 1.0, 0.0)
    grad_phi = tl.load(grad_log + walk) * (chosen - pi) - tl.load(grad_entropy + walk) * pi * (finite + entropy)
    grad_phi = tl.where(allowed, grad_phi, 0.0)
    grad_node = grad_phi * beta
    grad_edge = grad_phi * (1 - beta)
    grad_gate = grad_phi * (node - edge) * beta * (1 - beta) if WEIGHTED else grad_phi * 0
    tl.store(grad_gate_state + walk, tl.sum(grad_gate, axis=0))
    grad_x = _backward_part(
        rows_e, x_e, w_e, grad_node, grad_gate, grad_entity, grad_gate_entity, row, e, in_e, exists, ENTITY
    )
    tl.store(grad_e_tilde + walk * (ENTITY + TIME) + e, grad_x, mask=in_e)
    grad_x = _backward_part(
        rows_t, x_t, w_t, grad_node, grad_gate, grad_encoding, grad_gate_time, lag, t, in_t, exists, TIME
    )
    tl.store(grad_e_tilde + walk * (ENTITY + TIME) + ENTITY + t, grad_x, mask=in_t)
    grad_x = _backward_part(
        rows_r, x_r, w_r, grad_edge, grad_gate, grad_relation, grad_gate_relation, index, r, in_r, exists, RELATION
    )
    tl.store(grad_r_tilde + walk * RELATION + r, grad_x, mask=in_r)


class _Decide(torch.autograd.Function):
    """The choice, its log π, and the entropy of every walk."""

    @staticmethod
    def forward(
        ctx: Any,
        weighted: bool,
        rows: Tensor,
        relations: Tensor,
        lags: Tensor,
        mask: Tensor,
        noise: Tensor,
        *parts: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        # The kernels compute addresses from shapes alone.
        parts = tuple(part.contiguous() for part in parts)
        rows, relations, lags, mask, noise = (part.contiguous() for part in (rows, relations, lags, mask, noise))
        entity, relation, encoding = parts[3:6]
        num_walks, num_actions = rows.shape
        constants = {
            "ENTITY": entity.shape[1],
            "RELATION": relation.shape[1],
            "TIME": encoding.shape[1],
            "WEIGHTED": weighted,
            "BLOCK_E": triton.next_power_of_2(entity.shape[1]),
            "BLOCK_R": triton.next_power_of_2(relation.shape[1]),
            "BLOCK_T": triton.next_power_of_2(encoding.shape[1]),
            "ACTIONS": triton.next_power_of_2(num_actions),
        }
        choice = torch.empty(num_walks, dtype=torch.int64, device=rows.device)
        log_pi, entropy = entity.new_empty(num_walks), entity.new_empty(num_walks)
        _forward_kernel[(num_walks,)](
            *parts, rows, relations, lags, mask, noise, choice, log_pi, entropy, num_actions, **constants, num_warps=8
        )
        ctx.save_for_backward(rows, relations, lags, mask, choice, *parts)
        ctx.constants = constants
        ctx.mark_non_differentiable(choice)
        return choice, log_pi, entropy

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        rows, relations, lags, mask, choice, *parts = ctx.saved_tensors
        grad_log, grad_entropy = (gradient.contiguous() for gradient in gradients[1:])
        # Each program writes the gradients of its own walk; those of tables and weights are sums over all walks.
        grad_parts = [torch.empty_like(part) for part in parts[:3]] + [torch.zeros_like(part) for part in parts[3:]]
        _backward_kernel[(len(rows),)](
            *parts, rows, relations, lags, mask, choice, grad_log, grad_entropy, *grad_parts, rows.shape[1],
            **ctx.constants, num_warps=8,
        )  # fmt: skip
        return None, None, None, None, None, None, *grad_parts


def decide(
    weighted: bool, rows: Tensor, relations: Tensor, lags: Tensor, mask: Tensor, noise: Tensor, *parts: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return what ``decide.reference_decide`` returns, for tensors on a GPU."""
    return _Decide.apply(weighted, rows, relations, lags, mask, noise, *parts)  # type: ignore[return-value]
