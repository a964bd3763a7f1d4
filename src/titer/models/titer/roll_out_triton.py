"""Triton kernels of ``fused_roll_out``: the rows of nodes and the choice of actions.

One program handles one walk, and ``grad_`` marks the gradient of a value.

``choose`` finds the candidate actions of a node, scores them, and samples one, without writing anything of size
(walks, actions) to memory; ``decide.decide`` and ``walk.candidate_actions`` compute the same.
"""
# ruff: noqa: N803, N806 - constants of Triton kernels are in capitals

from typing import TYPE_CHECKING, Any

import triton
import triton.language as tl
from torch import Tensor

from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.titer.walk_settings import WalkSettings, block_size

if TYPE_CHECKING:
    from titer.models.titer.fused_roll_out import Draws, Gradients, Saved, Tables, WalkWeights


@triton.jit
def _write_row(
    row, factors, relation_table, entity_table, encoding, relation, entity, lag,
    ENTITY: tl.constexpr, RELATION: tl.constexpr, TIME: tl.constexpr,
    BLOCK_E: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_T: tl.constexpr, DROPPED: tl.constexpr,
):  # fmt: skip
    """Write [r; e; Φ(lag)], times the factors of dropout."""
    e, r, t = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_R), tl.arange(0, BLOCK_T)
    in_e, in_r, in_t = e < ENTITY, r < RELATION, t < TIME
    of_r = tl.load(relation_table + relation * RELATION + r, mask=in_r)
    of_e = tl.load(entity_table + entity * ENTITY + e, mask=in_e)
    of_t = tl.load(encoding + lag * TIME + t, mask=in_t)
    if DROPPED:
        of_r *= tl.load(factors + r, mask=in_r)
        of_e *= tl.load(factors + RELATION + e, mask=in_e)
        of_t *= tl.load(factors + RELATION + ENTITY + t, mask=in_t)
    tl.store(row + r, of_r, mask=in_r)
    tl.store(row + RELATION + e, of_e, mask=in_e)
    tl.store(row + RELATION + ENTITY + t, of_t, mask=in_t)


@triton.jit
def _begin_kernel(
    subject, query_relation, query_time, relation_out, entity_out, time_out, inputs,
    relation_table, entity_table, encoding, num_walks, start,
    STATE: tl.constexpr, BLOCK_S: tl.constexpr,
    ENTITY: tl.constexpr, RELATION: tl.constexpr, TIME: tl.constexpr,
    BLOCK_E: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_T: tl.constexpr,
):  # fmt: skip
    """Write the rows of the query and of the walk's start."""
    walk = tl.program_id(0).to(tl.int64)
    entity = tl.load(subject + walk)
    time = tl.load(query_time + walk)
    s = tl.arange(0, BLOCK_S)
    for i in range(2):
        relation = tl.load(query_relation + walk) if i == 0 else tl.zeros_like(entity) + start
        place = i * num_walks + walk
        tl.store(relation_out + place, relation)
        tl.store(entity_out + place, entity)
        tl.store(time_out + place, time)
        row = inputs + place * (RELATION + ENTITY + TIME + STATE)
        _write_row(
            row, row, relation_table, entity_table, encoding, relation, entity, 0,
            ENTITY, RELATION, TIME, BLOCK_E, BLOCK_R, BLOCK_T, False,
        )  # fmt: skip
        tl.store(row + RELATION + ENTITY + TIME + s, tl.zeros_like(s).to(tl.float32), mask=s < STATE)


@triton.jit
def _before(key, start, stop, elapsed, DEPTH: tl.constexpr):
    """Return the position after the last edge of an entity that is earlier than a time."""
    low, high = start, stop
    for _ in range(DEPTH):
        middle = (low + high) // 2
        time = tl.load(key + middle, mask=middle < high, other=0) & 0xFFFFFFFF
        earlier = (middle < high) & (time < elapsed)
        low = tl.where(earlier, middle + 1, low)
        high = tl.where(earlier, high, tl.maximum(middle, low))
    return low


@triton.jit
def _actions(
    key, relation, object, start, stop, node, node_time, query_time, first_time, last_lag, slot,
    LIMIT: tl.constexpr, LOOP: tl.constexpr, MUST_LEAVE: tl.constexpr,
):  # fmt: skip
    """Return the candidate actions: the latest edges before a position, and the self-loop in the slot after them."""
    position = stop - 1 - slot
    is_edge = (slot < LIMIT) & (position >= start)
    loop_slot = tl.where(stop <= start, LIMIT, -1) if MUST_LEAVE else LIMIT
    allowed = is_edge | (slot == loop_slot)
    of_relation = tl.where(is_edge, tl.load(relation + position, mask=is_edge, other=0).to(tl.int64), LOOP)
    of_object = tl.where(is_edge, tl.load(object + position, mask=is_edge, other=0).to(tl.int64), node)
    time = (tl.load(key + position, mask=is_edge, other=0) & 0xFFFFFFFF) + first_time
    time = tl.where(is_edge, time, node_time)
    lag = tl.minimum(tl.maximum(query_time - time, 0), last_lag)
    return of_relation, of_object, time, lag, allowed


@triton.jit
def _part(x, weight, table, index, dim, inside, allowed, SIZE: tl.constexpr):
    """Return rows of a table, and their products with the vector of the walk and with the vector of the gate."""
    rows = tl.load(table + index[:, None] * SIZE + dim[None, :], mask=allowed[:, None] & inside[None, :], other=0.0)
    return rows, tl.sum(rows * x[None, :], axis=1), tl.sum(rows * weight[None, :], axis=1)


@triton.jit
def _choose_kernel(
    key, relation, object, offsets, first_time, last_lag,
    node_relation, node_entity, node_time, query_time, next_relation, next_entity, next_time, stop_out,
    out, scored, uniform, factors, entity_table, relation_table, encoding, gate_weights,
    choice_out, log_out, entropy_out, next_input, num_uniform,
    STATE: tl.constexpr, HIDDEN: tl.constexpr, DEPTH: tl.constexpr, STRICT: tl.constexpr,
    LAST: tl.constexpr, DROPPED: tl.constexpr,
    LIMIT: tl.constexpr, LOOP: tl.constexpr, MUST_LEAVE: tl.constexpr, WEIGHTED: tl.constexpr, ACTIONS: tl.constexpr,
    ENTITY: tl.constexpr, RELATION: tl.constexpr, TIME: tl.constexpr,
    BLOCK_E: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_T: tl.constexpr,
):  # fmt: skip
    """Choose the next action of a walk, and write the next input of the path encoder."""
    walk = tl.program_id(0).to(tl.int64)
    WIDTH: tl.constexpr = ENTITY + TIME + RELATION
    node, now, asked = tl.load(node_entity + walk), tl.load(node_time + walk), tl.load(query_time + walk)
    start = tl.load(offsets + node)
    before = now if STRICT else tl.minimum(now + 1, asked)
    stop = _before(key, start, tl.load(offsets + node + 1), before - first_time, DEPTH)
    slot = tl.arange(0, ACTIONS)
    rel, ent, time, lag, allowed = _actions(
        key, relation, object, start, stop, node, now, asked, first_time, last_lag, slot, LIMIT, LOOP, MUST_LEAVE
    )
    e, r, t = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_R), tl.arange(0, BLOCK_T)
    in_e, in_r, in_t = e < ENTITY, r < RELATION, t < TIME
    x_e = tl.load(out + walk * WIDTH + e, mask=in_e, other=0.0)
    x_t = tl.load(out + walk * WIDTH + ENTITY + t, mask=in_t, other=0.0)
    x_r = tl.load(out + walk * WIDTH + ENTITY + TIME + r, mask=in_r, other=0.0)
    w_e = tl.load(gate_weights + e, mask=in_e, other=0.0)
    w_t = tl.load(gate_weights + ENTITY + t, mask=in_t, other=0.0)
    w_r = tl.load(gate_weights + ENTITY + TIME + r, mask=in_r, other=0.0)
    _, node_e, gate_e = _part(x_e, w_e, entity_table, ent, e, in_e, allowed, ENTITY)
    _, node_t, gate_t = _part(x_t, w_t, encoding, lag, t, in_t, allowed, TIME)
    _, edge, gate_r = _part(x_r, w_r, relation_table, rel, r, in_r, allowed, RELATION)
    gate = gate_e + gate_t + gate_r + tl.load(scored + walk * (HIDDEN + 1) + HIDDEN)
    beta = tl.sigmoid(gate) if WEIGHTED else gate * 0 + 0.5
    phi = tl.where(allowed, beta * (node_e + node_t) + (1 - beta) * edge, float("-inf"))
    top = tl.max(phi, axis=0)
    log_pi = phi - top - tl.log(tl.sum(tl.exp(phi - top), axis=0))
    drawn = tl.load(uniform + walk * num_uniform + slot, mask=slot <= LIMIT, other=0.5)
    noise = -tl.log(-tl.log(tl.minimum(tl.maximum(drawn, 1e-20), 1 - 1e-7)))
    choice = tl.argmax(tl.where(allowed, log_pi + noise, float("-inf")), axis=0)
    finite = tl.where(allowed, log_pi, 0.0)
    chosen = slot == choice
    tl.store(choice_out + walk, choice.to(tl.int64))
    tl.store(stop_out + walk, stop)
    tl.store(log_out + walk, tl.sum(tl.where(chosen, finite, 0.0), axis=0))
    tl.store(entropy_out + walk, -tl.sum(tl.where(allowed, tl.exp(log_pi), 0.0) * finite, axis=0))
    new_relation = tl.sum(tl.where(chosen, rel, 0), axis=0)
    new_entity = tl.sum(tl.where(chosen, ent, 0), axis=0)
    tl.store(next_relation + walk, new_relation)
    tl.store(next_entity + walk, new_entity)
    tl.store(next_time + walk, tl.sum(tl.where(chosen, time, 0), axis=0))
    if not LAST:
        _write_row(
            next_input + walk * (WIDTH + STATE), factors + walk * WIDTH, relation_table, entity_table, encoding,
            new_relation, new_entity, tl.sum(tl.where(chosen, lag, 0), axis=0),
            ENTITY, RELATION, TIME, BLOCK_E, BLOCK_R, BLOCK_T, DROPPED,
        )  # fmt: skip


@triton.jit
def _backward_part(
    rows, x, weight, grad_dot, grad_gate, grad_table, grad_weight, index, dim, inside, allowed, SIZE: tl.constexpr
):
    """Add the gradients of two products to those of the table; return that of the walk's vector."""
    change = grad_dot[:, None] * x[None, :] + grad_gate[:, None] * weight[None, :]
    keep = (allowed & ((grad_dot != 0) | (grad_gate != 0)))[:, None] & inside[None, :]
    tl.atomic_add(grad_table + index[:, None] * SIZE + dim[None, :], change, mask=keep, sem="relaxed")
    tl.store(grad_weight + dim, tl.sum(rows * grad_gate[:, None], axis=0), mask=inside)
    return tl.sum(rows * grad_dot[:, None], axis=0)


@triton.jit
def _choose_backward_kernel(
    key, relation, object, offsets, first_time, last_lag,
    node_entity, node_time, query_time, stop_in,
    out, scored, entity_table, relation_table, encoding, gate_weights,
    choice, grad_log, grad_entropy, grad_out, grad_scored, grad_action, grad_entity, grad_relation, grad_encoding,
    HIDDEN: tl.constexpr,
    LIMIT: tl.constexpr, LOOP: tl.constexpr, MUST_LEAVE: tl.constexpr, WEIGHTED: tl.constexpr, ACTIONS: tl.constexpr,
    ENTITY: tl.constexpr, RELATION: tl.constexpr, TIME: tl.constexpr,
    BLOCK_E: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_T: tl.constexpr,
):  # fmt: skip
    walk = tl.program_id(0).to(tl.int64)
    WIDTH: tl.constexpr = ENTITY + TIME + RELATION
    node, now, asked = tl.load(node_entity + walk), tl.load(node_time + walk), tl.load(query_time + walk)
    slot = tl.arange(0, ACTIONS)
    rel, ent, _, lag, allowed = _actions(
        key, relation, object, tl.load(offsets + node), tl.load(stop_in + walk), node, now, asked, first_time, last_lag,
        slot, LIMIT, LOOP, MUST_LEAVE,
    )  # fmt: skip
    e, r, t = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_R), tl.arange(0, BLOCK_T)
    in_e, in_r, in_t = e < ENTITY, r < RELATION, t < TIME
    x_e = tl.load(out + walk * WIDTH + e, mask=in_e, other=0.0)
    x_t = tl.load(out + walk * WIDTH + ENTITY + t, mask=in_t, other=0.0)
    x_r = tl.load(out + walk * WIDTH + ENTITY + TIME + r, mask=in_r, other=0.0)
    w_e = tl.load(gate_weights + e, mask=in_e, other=0.0)
    w_t = tl.load(gate_weights + ENTITY + t, mask=in_t, other=0.0)
    w_r = tl.load(gate_weights + ENTITY + TIME + r, mask=in_r, other=0.0)
    rows_e, node_e, gate_e = _part(x_e, w_e, entity_table, ent, e, in_e, allowed, ENTITY)
    rows_t, node_t, gate_t = _part(x_t, w_t, encoding, lag, t, in_t, allowed, TIME)
    rows_r, edge, gate_r = _part(x_r, w_r, relation_table, rel, r, in_r, allowed, RELATION)
    of_node = node_e + node_t
    gate = gate_e + gate_t + gate_r + tl.load(scored + walk * (HIDDEN + 1) + HIDDEN)
    beta = tl.sigmoid(gate) if WEIGHTED else gate * 0 + 0.5
    phi = tl.where(allowed, beta * of_node + (1 - beta) * edge, float("-inf"))
    top = tl.max(phi, axis=0)
    log_pi = phi - top - tl.log(tl.sum(tl.exp(phi - top), axis=0))
    pi = tl.where(allowed, tl.exp(log_pi), 0.0)
    finite = tl.where(allowed, log_pi, 0.0)
    entropy = -tl.sum(pi * finite, axis=0)
    chosen = tl.where(slot == tl.load(choice + walk), 1.0, 0.0)
    grad_phi = tl.load(grad_log + walk) * (chosen - pi) - tl.load(grad_entropy + walk) * pi * (finite + entropy)
    grad_phi = tl.where(allowed, grad_phi, 0.0)
    grad_node = grad_phi * beta
    grad_edge = grad_phi * (1 - beta)
    grad_gate = grad_phi * (of_node - edge) * beta * (1 - beta) if WEIGHTED else grad_phi * 0
    tl.store(grad_scored + walk * (HIDDEN + 1) + HIDDEN, tl.sum(grad_gate, axis=0))
    of_weights = grad_action + walk * WIDTH
    grad_x = _backward_part(
        rows_e, x_e, w_e, grad_node, grad_gate, grad_entity, of_weights, ent, e, in_e, allowed, ENTITY
    )
    tl.store(grad_out + walk * WIDTH + e, grad_x, mask=in_e)
    grad_x = _backward_part(
        rows_t, x_t, w_t, grad_node, grad_gate, grad_encoding, of_weights + ENTITY, lag, t, in_t, allowed, TIME
    )
    tl.store(grad_out + walk * WIDTH + ENTITY + t, grad_x, mask=in_t)
    grad_x = _backward_part(
        rows_r, x_r, w_r, grad_edge, grad_gate, grad_relation, of_weights + ENTITY + TIME, rel, r, in_r, allowed,
        RELATION,
    )  # fmt: skip
    tl.store(grad_out + walk * WIDTH + ENTITY + TIME + r, grad_x, mask=in_r)


@triton.jit
def _scatter_kernel(
    relation, entity, time, query_time, grad_inputs, factors,
    grad_entity, grad_relation, grad_encoding, num_walks, last_lag,
    STATE: tl.constexpr, DROPPED: tl.constexpr,
    ENTITY: tl.constexpr, RELATION: tl.constexpr, TIME: tl.constexpr,
    BLOCK_E: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_T: tl.constexpr,
):  # fmt: skip
    """Add the gradients of all inputs of the path encoder, and of the query's row, to those of the tables."""
    place = tl.program_id(0).to(tl.int64)
    walk = place % num_walks
    WIDTH: tl.constexpr = ENTITY + TIME + RELATION
    e, r, t = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_R), tl.arange(0, BLOCK_T)
    in_e, in_r, in_t = e < ENTITY, r < RELATION, t < TIME
    source = grad_inputs + place * (WIDTH + STATE)
    of_r = tl.load(source + r, mask=in_r, other=0.0)
    of_e = tl.load(source + RELATION + e, mask=in_e, other=0.0)
    of_t = tl.load(source + RELATION + ENTITY + t, mask=in_t, other=0.0)
    if DROPPED:
        # The rows of the query and of the start have no dropout: their masks are empty, and their factors 1.
        dropped = tl.where(place >= 2 * num_walks, 1, 0)
        factor = factors + (place - 2 * num_walks) * WIDTH
        of_r *= tl.load(factor + r, mask=r < dropped * RELATION, other=1.0)
        of_e *= tl.load(factor + RELATION + e, mask=e < dropped * ENTITY, other=1.0)
        of_t *= tl.load(factor + RELATION + ENTITY + t, mask=t < dropped * TIME, other=1.0)
    lag = tl.minimum(tl.maximum(tl.load(query_time + walk) - tl.load(time + place), 0), last_lag)
    tl.atomic_add(grad_relation + tl.load(relation + place) * RELATION + r, of_r, mask=in_r, sem="relaxed")
    tl.atomic_add(grad_entity + tl.load(entity + place) * ENTITY + e, of_e, mask=in_e, sem="relaxed")
    tl.atomic_add(grad_encoding + lag * TIME + t, of_t, mask=in_t, sem="relaxed")


def begin(settings: WalkSettings, queries: Queries, weights: "WalkWeights", saved: "Saved") -> None:
    """Write the rows of the queries and of the starts of their walks."""
    if not len(queries):
        return
    size = settings.config.state_dim
    _begin_kernel[(len(queries),)](
        queries.subject.contiguous(), queries.relation.contiguous(), queries.time.contiguous(),
        saved.relation, saved.entity, saved.time, saved.inputs,
        weights.relation, weights.entity, weights.encoding, len(queries), settings.start,
        size, block_size(size), **settings.dims, num_warps=4,
    )  # fmt: skip


def choose(
    settings: WalkSettings, history: History, draws: "Draws", weights: "WalkWeights", saved: "Saved", hop: int
) -> None:
    """Choose the action of every walk at a hop."""
    config, last = settings.config, hop == settings.config.path_length - 1
    if not saved.h.shape[1]:
        return
    factors = None if last or draws.inputs is None else draws.inputs[hop]
    _choose_kernel[(saved.h.shape[1],)](
        *_facts(history, weights),
        saved.relation[hop + 1], saved.entity[hop + 1], saved.time[hop + 1], saved.time[0],
        saved.relation[hop + 2], saved.entity[hop + 2], saved.time[hop + 2], saved.stop[hop],
        saved.out[hop], saved.scored[hop], draws.uniform[hop], saved.out if factors is None else factors,
        weights.entity, weights.relation, weights.encoding, weights.action,
        saved.choice[hop], saved.log_probability[hop], saved.entropy[hop],
        saved.inputs[hop + 1 if last else hop + 2], draws.uniform.shape[2],
        STATE=config.state_dim, HIDDEN=config.hidden_dim, DEPTH=history.max_edges.bit_length() + 1,
        STRICT=config.strictly_back, LAST=last, DROPPED=factors is not None,
        **settings.actions(hop), **settings.dims, num_warps=8,
    )  # fmt: skip


def choose_backward(
    settings: WalkSettings, history: History, weights: "WalkWeights", saved: "Saved",
    of_log: Tensor, of_entropy: Tensor, grad: "Gradients", tables: "Tables", hop: int,
) -> None:  # fmt: skip
    """Compute the gradients of the scores of a hop, and add those of the tables."""
    if not saved.h.shape[1]:
        return
    _choose_backward_kernel[(saved.h.shape[1],)](
        *_facts(history, weights),
        saved.entity[hop + 1], saved.time[hop + 1], saved.time[0], saved.stop[hop],
        saved.out[hop], saved.scored[hop], weights.entity, weights.relation, weights.encoding, weights.action,
        saved.choice[hop], of_log[hop], of_entropy[hop],
        grad.out[hop], grad.scored[hop], grad.action[hop], *tables,
        HIDDEN=settings.config.hidden_dim, **settings.actions(hop), **settings.dims, num_warps=8,
    )  # fmt: skip


def scatter(
    settings: WalkSettings, saved: "Saved", factors: Tensor | None, grad: "Gradients", tables: "Tables"
) -> None:
    """Add the gradients of all rows to those of the tables."""
    rows, walks = saved.inputs.shape[:2]
    if walks:
        _scatter_kernel[(rows * walks,)](
            saved.relation, saved.entity, saved.time, saved.time[0], grad.inputs,
            grad.inputs if factors is None else factors, *tables, walks, len(tables.encoding) - 1,
            settings.config.state_dim, factors is not None, **settings.dims, num_warps=4,
        )  # fmt: skip


def _facts(history: History, weights: "WalkWeights") -> tuple[Any, ...]:
    return (
        history.key, history.relation, history.object, history.offsets,
        history.first_time, len(weights.encoding) - 1,
    )  # fmt: skip
