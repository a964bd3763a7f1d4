"""Triton kernels of ``fused_roll_out``: the state of the path encoder and the hidden layer above it.

One program handles one walk. The matrix products between these kernels are those of torch.
"""
# ruff: noqa: N803 - constants of Triton kernels are in capitals

from typing import TYPE_CHECKING

import triton
import triton.language as tl
from torch import Tensor

from titer.models.titer.walk_settings import WalkSettings, block_size

if TYPE_CHECKING:
    from titer.models.titer.fused_roll_out import Gradients, Saved


@triton.jit
def _cell_kernel(
    gates, c_before, c_out, h_out, input_before, input_after, relation,
    WIDTH: tl.constexpr, STATE: tl.constexpr, BLOCK_S: tl.constexpr, LOOP: tl.constexpr,
    FIRST: tl.constexpr, LAST: tl.constexpr, FREEZES: tl.constexpr,
):  # fmt: skip
    """Compute the LSTM cell from its gates, which are overwritten by their activations."""
    walk = tl.program_id(0).to(tl.int64)
    s = tl.arange(0, BLOCK_S)
    inside = s < STATE
    gate = gates + walk * 4 * STATE + s
    i = tl.sigmoid(tl.load(gate, mask=inside, other=0.0))
    f = tl.sigmoid(tl.load(gate + STATE, mask=inside, other=0.0))
    g = 2 * tl.sigmoid(2 * tl.load(gate + 2 * STATE, mask=inside, other=0.0)) - 1  # tanh
    o = tl.sigmoid(tl.load(gate + 3 * STATE, mask=inside, other=0.0))
    tl.store(gate, i, mask=inside)
    tl.store(gate + STATE, f, mask=inside)
    tl.store(gate + 2 * STATE, g, mask=inside)
    tl.store(gate + 3 * STATE, o, mask=inside)
    c = i * g
    if not FIRST:
        before = tl.load(c_before + walk * STATE + s, mask=inside, other=0.0)
        c += f * before
    h = o * (2 * tl.sigmoid(2 * c) - 1)
    if FREEZES:
        stays = tl.load(relation + walk) == LOOP
        c = tl.where(stays, before, c)
        h = tl.where(stays, tl.load(input_before + walk * (WIDTH + STATE) + WIDTH + s, mask=inside, other=0.0), h)
    tl.store(c_out + walk * STATE + s, c, mask=inside)
    tl.store(h_out + walk * STATE + s, h, mask=inside)
    if not LAST:
        tl.store(input_after + walk * (WIDTH + STATE) + WIDTH + s, h, mask=inside)


@triton.jit
def _cell_backward_kernel(
    gates, c_before, c_after, relation, grad_h, grad_input_after, grad_c, grad_kept, grad_gates,
    WIDTH: tl.constexpr, STATE: tl.constexpr, BLOCK_S: tl.constexpr, LOOP: tl.constexpr,
    FIRST: tl.constexpr, LAST: tl.constexpr, FREEZES: tl.constexpr, FREEZES_AFTER: tl.constexpr,
):  # fmt: skip
    walk = tl.program_id(0).to(tl.int64)
    s = tl.arange(0, BLOCK_S)
    inside = s < STATE
    place = walk * STATE + s
    gate = walk * 4 * STATE + s
    i = tl.load(gates + gate, mask=inside, other=0.0)
    f = tl.load(gates + gate + STATE, mask=inside, other=0.0)
    g = tl.load(gates + gate + 2 * STATE, mask=inside, other=0.0)
    o = tl.load(gates + gate + 3 * STATE, mask=inside, other=0.0)
    of_h = tl.load(grad_h + place, mask=inside, other=0.0)
    if not LAST:
        of_h += tl.load(grad_input_after + walk * (WIDTH + STATE) + WIDTH + s, mask=inside, other=0.0)
    if FREEZES_AFTER:
        of_h += tl.load(grad_kept + place, mask=inside, other=0.0)
    c = tl.load(c_after + place, mask=inside, other=0.0)
    tanh = 2 * tl.sigmoid(2 * c) - 1
    later = tl.load(grad_c + place, mask=inside, other=0.0) if not LAST else tl.zeros_like(of_h)
    of_c = later + of_h * o * (1 - tanh * tanh)
    of_i = of_c * g * i * (1 - i)
    of_g = of_c * i * (1 - g * g)
    of_o = of_h * tanh * o * (1 - o)
    of_f = tl.zeros_like(of_c)
    if not FIRST:
        of_f = of_c * tl.load(c_before + place, mask=inside, other=0.0) * f * (1 - f)
    of_before = of_c * f
    if FREEZES:
        stays = tl.load(relation + walk) == LOOP
        of_i, of_f = tl.where(stays, 0.0, of_i), tl.where(stays, 0.0, of_f)
        of_g, of_o = tl.where(stays, 0.0, of_g), tl.where(stays, 0.0, of_o)
        of_before = tl.where(stays, later, of_before)
        tl.store(grad_kept + place, tl.where(stays, of_h, 0.0), mask=inside)
    tl.store(grad_c + place, of_before, mask=inside)
    tl.store(grad_gates + gate, of_i, mask=inside)
    tl.store(grad_gates + gate + STATE, of_f, mask=inside)
    tl.store(grad_gates + gate + 2 * STATE, of_g, mask=inside)
    tl.store(grad_gates + gate + 3 * STATE, of_o, mask=inside)


@triton.jit
def _hidden_kernel(scored, factors, hidden, HIDDEN: tl.constexpr, BLOCK: tl.constexpr, DROPPED: tl.constexpr):
    """Compute the hidden layer: the positive part, times the factors of dropout."""
    walk = tl.program_id(0).to(tl.int64)
    dim = tl.arange(0, BLOCK)
    inside = dim < HIDDEN
    value = tl.maximum(tl.load(scored + walk * (HIDDEN + 1) + dim, mask=inside, other=0.0), 0.0)
    if DROPPED:
        value *= tl.load(factors + walk * HIDDEN + dim, mask=inside, other=0.0)
    tl.store(hidden + walk * HIDDEN + dim, value, mask=inside)


@triton.jit
def _hidden_backward_kernel(
    scored, factors, grad_hidden, grad_scored, HIDDEN: tl.constexpr, BLOCK: tl.constexpr, DROPPED: tl.constexpr
):
    walk = tl.program_id(0).to(tl.int64)
    dim = tl.arange(0, BLOCK)
    inside = dim < HIDDEN
    gradient = tl.load(grad_hidden + walk * HIDDEN + dim, mask=inside, other=0.0)
    if DROPPED:
        gradient *= tl.load(factors + walk * HIDDEN + dim, mask=inside, other=0.0)
    before = tl.load(scored + walk * (HIDDEN + 1) + dim, mask=inside, other=0.0)
    tl.store(grad_scored + walk * (HIDDEN + 1) + dim, tl.where(before > 0, gradient, 0.0), mask=inside)


def cell(settings: WalkSettings, saved: "Saved", hop: int) -> None:
    """Compute the state after the input of a hop."""
    config = settings.config
    if not saved.h.shape[1]:
        return
    last = hop == config.path_length - 1
    _cell_kernel[(saved.h.shape[1],)](
        saved.gates[hop], saved.c[max(hop - 1, 0)], saved.c[hop], saved.h[hop],
        saved.inputs[hop + 1], saved.inputs[hop + 1 if last else hop + 2], saved.relation[hop + 1],
        config.relation_dim + config.node_dim, config.state_dim, block_size(config.state_dim),
        settings.self_loop, hop == 0, last, settings.freezes(hop), num_warps=4,
    )  # fmt: skip


def cell_backward(settings: WalkSettings, saved: "Saved", of_state: Tensor, grad: "Gradients", hop: int) -> None:
    """Compute the gradients of the gates of a hop."""
    config = settings.config
    if not len(of_state):
        return
    last = hop == config.path_length - 1
    _cell_backward_kernel[(len(of_state),)](
        saved.gates[hop], saved.c[max(hop - 1, 0)], saved.c[hop], saved.relation[hop + 1],
        of_state, grad.inputs[hop + 1 if last else hop + 2], grad.c, grad.kept, grad.gates[hop],
        config.relation_dim + config.node_dim, config.state_dim, block_size(config.state_dim),
        settings.self_loop, hop == 0, last, settings.freezes(hop), not last and settings.freezes(hop + 1), num_warps=4,
    )  # fmt: skip


def hidden(saved: "Saved", factors: Tensor | None, hop: int) -> None:
    """Compute the hidden layer of a hop."""
    layer = saved.hidden[hop]
    if len(layer):
        _hidden_kernel[(len(layer),)](
            saved.scored[hop], layer if factors is None else factors[hop], layer,
            layer.shape[1], block_size(layer.shape[1]), factors is not None, num_warps=4,
        )  # fmt: skip


def hidden_backward(saved: "Saved", factors: Tensor | None, of_hidden: Tensor, grad: "Gradients", hop: int) -> None:
    """Compute the gradients of the hidden layer before its activation."""
    if len(of_hidden):
        _hidden_backward_kernel[(len(of_hidden),)](
            saved.scored[hop], of_hidden if factors is None else factors[hop], of_hidden, grad.scored[hop],
            of_hidden.shape[1], block_size(of_hidden.shape[1]), factors is not None, num_warps=4,
        )  # fmt: skip
