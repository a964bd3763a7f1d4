"""Triton kernels of the trust network and its gradient.

One program handles several blocks of reached answers, one after another. Hidden layers are never written to memory: the
gradient computes them again.
"""
# ruff: noqa: N803, RUF059 - constants of Triton kernels are in capitals; a kernel needs only some results of another

import torch
import triton
import triton.language as tl
from torch import Tensor

from titer.models.path_mixture.trust_network import MAX_UNITS

ROWS = 32
"""Reached answers in a block."""
UNITS = MAX_UNITS // 2
"""Units of the second layer that the gradient handles at a time: two halves, one after the other.

Products with 64 or more rows would be asynchronous on Hopper GPUs. Several of them in a kernel failed there with Triton
3.6 (an illegal memory access), so no product has as many.
"""
PRECISE, FAST = "tf32x3", "tf32"
"""Precision of products: that of 32-bit numbers, and one that is enough in training.

FAST has errors of about one in a thousand, far below the noise of a batch. With PRECISE, the gradient takes three times
as long.
"""
PROGRAMS = 528
"""Number of programs at most: four for each multiprocessor of a large GPU."""
ROUNDS = tl.constexpr(6)
"""Rounds of the random numbers of dropout; the usual ten take longer than the products."""
PIECE = tl.constexpr(1 << 20)
"""Reached answers that share a seed, so that the number of each random value fits into 31 bits."""


@triton.jit
def _first_layer(
    block, row, of_query, fact_of, of_facts, same_of, of_same, of_pair, num_rows, weight, seed, rate,
    INPUTS: tl.constexpr, FIRST: tl.constexpr, ROWS: tl.constexpr, INPUT_BLOCK: tl.constexpr, BLOCK: tl.constexpr,
    DROPOUT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Return the inputs and the first hidden layer of a block, without the factor of dropout."""
    at = block * ROWS + tl.arange(0, ROWS)
    exists = at < num_rows
    unit = tl.arange(0, BLOCK)
    used = unit < FIRST
    value = tl.arange(0, INPUT_BLOCK)
    inputs = tl.load(
        of_pair + value[None, :] * num_rows + at[:, None], mask=exists[:, None] & (value < INPUTS)[None, :], other=0.0
    )
    weights = tl.load(
        weight + unit[None, :] * INPUTS + value[:, None], mask=used[None, :] & (value < INPUTS)[:, None], other=0.0
    )
    query = tl.load(row + at, mask=exists, other=0).to(tl.int64)
    layer = tl.load(of_query + query[:, None] * FIRST + unit[None, :], mask=exists[:, None] & used[None, :], other=0.0)
    layer += tl.dot(inputs, weights, input_precision=PRECISION)
    fact = tl.load(fact_of + at, mask=exists, other=-1).to(tl.int64)
    has_fact = (fact >= 0)[:, None] & used[None, :]
    layer += tl.load(of_facts + fact[:, None] * FIRST + unit[None, :], mask=has_fact, other=0.0)
    same = tl.load(same_of + at, mask=exists, other=-1).to(tl.int64)
    has_same = (same >= 0)[:, None] & used[None, :]
    layer += tl.load(of_same + same[:, None] * FIRST + unit[None, :], mask=has_same, other=0.0)
    layer = tl.maximum(layer, 0.0)
    if DROPOUT:
        first = block * ROWS
        number = ((first % PIECE).to(tl.int32) + tl.arange(0, ROWS))[:, None] * BLOCK + unit[None, :]
        drawn = tl.rand((tl.load(seed) + first // PIECE).to(tl.int32), number, ROUNDS)
        layer = tl.where(drawn >= rate, layer, 0.0)
    return at, exists, inputs, weights, query, fact, same, layer


@triton.jit(do_not_specialize=["num_rows"])
def _forward_kernel(
    row, of_query, fact_of, of_facts, same_of, of_same, of_pair, num_rows, weight, second, bias, third, seed, rate, out,
    INPUTS: tl.constexpr, FIRST: tl.constexpr, SECOND: tl.constexpr, ROWS: tl.constexpr, INPUT_BLOCK: tl.constexpr,
    BLOCK: tl.constexpr, NEXT_BLOCK: tl.constexpr, DROPOUT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    unit, following = tl.arange(0, BLOCK), tl.arange(0, NEXT_BLOCK)
    kept = following < SECOND
    matrix = tl.load(
        second + following[None, :] * FIRST + unit[:, None], mask=kept[None, :] & (unit < FIRST)[:, None], other=0.0
    )
    constant, last = tl.load(bias + following, mask=kept, other=0.0), tl.load(third + following, mask=kept, other=0.0)
    for block in range(tl.program_id(0), tl.cdiv(num_rows, ROWS), tl.num_programs(0)):
        at, exists, inputs, weights, query, fact, same, layer = _first_layer(
            block, row, of_query, fact_of, of_facts, same_of, of_same, of_pair, num_rows, weight, seed, rate,
            INPUTS, FIRST, ROWS, INPUT_BLOCK, BLOCK, DROPOUT, PRECISION,
        )  # fmt: skip
        hidden = tl.maximum(tl.dot(layer, matrix, input_precision=PRECISION) + constant[None, :], 0.0)
        tl.store(out + at, tl.sum(hidden * last[None, :], axis=1), mask=exists)


@triton.jit
def _load_units(
    second, bias, third, first_unit, FIRST: tl.constexpr, SECOND: tl.constexpr, BLOCK: tl.constexpr, UNITS: tl.constexpr
):
    """Return the weights and the bias of some units of the second layer, and the weights of the third."""
    unit, following = tl.arange(0, BLOCK), first_unit + tl.arange(0, UNITS)
    kept = following < SECOND
    matrix = tl.load(
        second + following[:, None] * FIRST + unit[None, :], mask=kept[:, None] & (unit < FIRST)[None, :], other=0.0
    )
    return matrix, tl.load(bias + following, mask=kept, other=0.0), tl.load(third + following, mask=kept, other=0.0)


@triton.jit
def _add_units(
    to_second, to_bias, to_third, sum_second, sum_bias, sum_third, first_unit,
    FIRST: tl.constexpr, SECOND: tl.constexpr, BLOCK: tl.constexpr, UNITS: tl.constexpr,
):  # fmt: skip
    """Add the gradients of some units of the second layer to those of other programs."""
    unit, following = tl.arange(0, BLOCK), first_unit + tl.arange(0, UNITS)
    kept = following < SECOND
    place = following[:, None] * FIRST + unit[None, :]
    tl.atomic_add(to_second + place, sum_second, mask=kept[:, None] & (unit < FIRST)[None, :], sem="relaxed")
    tl.atomic_add(to_bias + following, sum_bias, mask=kept, sem="relaxed")
    tl.atomic_add(to_third + following, sum_third, mask=kept, sem="relaxed")


@triton.jit
def _units_backward(layer, upstream, matrix, constant, last, PRECISION: tl.constexpr):
    """Return the gradient of some units of the second layer, and the sums for their weights."""
    hidden = tl.maximum(tl.dot(layer, tl.trans(matrix), input_precision=PRECISION) + constant[None, :], 0.0)
    middle = tl.where(hidden > 0, upstream[:, None] * last[None, :], 0.0)
    of_second = tl.dot(tl.trans(middle), layer, input_precision=PRECISION)
    return middle, of_second, tl.sum(middle, axis=0), tl.sum(hidden * upstream[:, None], axis=0)


@triton.jit(do_not_specialize=["num_rows"])
def _backward_kernel(
    row, of_query, fact_of, of_facts, same_of, of_same, of_pair, num_rows, weight, second, bias, third, seed, rate,
    gradient, to_query, to_facts, to_same, to_pair, to_weight, to_second, to_bias, to_third,
    INPUTS: tl.constexpr, FIRST: tl.constexpr, SECOND: tl.constexpr, ROWS: tl.constexpr, INPUT_BLOCK: tl.constexpr,
    BLOCK: tl.constexpr, UNITS: tl.constexpr, DROPOUT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Compute the gradients of all terms. The second layer is computed in two halves of at most UNITS units."""
    unit, value = tl.arange(0, BLOCK), tl.arange(0, INPUT_BLOCK)
    used, given = unit < FIRST, value < INPUTS
    matrix_a, constant_a, last_a = _load_units(second, bias, third, 0, FIRST, SECOND, BLOCK, UNITS)
    matrix_b, constant_b, last_b = _load_units(second, bias, third, UNITS, FIRST, SECOND, BLOCK, UNITS)
    second_a, second_b = tl.zeros((UNITS, BLOCK), dtype=tl.float32), tl.zeros((UNITS, BLOCK), dtype=tl.float32)
    bias_a, bias_b = tl.zeros((UNITS,), dtype=tl.float32), tl.zeros((UNITS,), dtype=tl.float32)
    third_a, third_b = tl.zeros((UNITS,), dtype=tl.float32), tl.zeros((UNITS,), dtype=tl.float32)
    sum_weight = tl.zeros((INPUT_BLOCK, BLOCK), dtype=tl.float32)
    for block in range(tl.program_id(0), tl.cdiv(num_rows, ROWS), tl.num_programs(0)):
        at, exists, inputs, weights, query, fact, same, layer = _first_layer(
            block, row, of_query, fact_of, of_facts, same_of, of_same, of_pair, num_rows, weight, seed, rate,
            INPUTS, FIRST, ROWS, INPUT_BLOCK, BLOCK, DROPOUT, PRECISION,
        )  # fmt: skip
        upstream = tl.load(gradient + at, mask=exists, other=0.0)
        middle, of_second, of_bias, of_third = _units_backward(layer, upstream, matrix_a, constant_a, last_a, PRECISION)
        change = tl.dot(middle, matrix_a, input_precision=PRECISION)
        second_a, bias_a, third_a = second_a + of_second, bias_a + of_bias, third_a + of_third
        middle, of_second, of_bias, of_third = _units_backward(layer, upstream, matrix_b, constant_b, last_b, PRECISION)
        change += tl.dot(middle, matrix_b, input_precision=PRECISION)
        second_b, bias_b, third_b = second_b + of_second, bias_b + of_bias, third_b + of_third
        # Dropped units are zero like those that ReLU turns off, so their gradient needs no mask of its own.
        change = tl.where(layer > 0, change, 0.0)
        sum_weight += tl.dot(tl.trans(inputs), change, input_precision=PRECISION)
        for number in tl.static_range(INPUTS):
            of_input = tl.load(weight + unit * INPUTS + number, mask=used, other=0.0)
            tl.store(to_pair + number * num_rows + at, tl.sum(change * of_input[None, :], axis=1), mask=exists)
        has_fact = (fact >= 0)[:, None] & used[None, :]
        tl.atomic_add(to_facts + fact[:, None] * FIRST + unit[None, :], change, mask=has_fact, sem="relaxed")
        # A series belongs to one reached answer.
        has_same = (same >= 0)[:, None] & used[None, :]
        tl.store(to_same + same[:, None] * FIRST + unit[None, :], change, mask=has_same)
        # The answers of a query follow each other, so a block has few queries.
        query = tl.where(exists, query, -1)
        most = tl.max(query, axis=0)
        least = tl.min(tl.where(exists, query, most), axis=0)
        for each in range(least, most + 1):
            total = tl.sum(tl.where((query == each)[:, None], change, 0.0), axis=0)
            tl.atomic_add(to_query + each * FIRST + unit, total, mask=used, sem="relaxed")
    spot = unit[None, :] * INPUTS + value[:, None]
    tl.atomic_add(to_weight + spot, sum_weight, mask=given[:, None] & used[None, :], sem="relaxed")
    _add_units(to_second, to_bias, to_third, second_a, bias_a, third_a, 0, FIRST, SECOND, BLOCK, UNITS)
    _add_units(to_second, to_bias, to_third, second_b, bias_b, third_b, UNITS, FIRST, SECOND, BLOCK, UNITS)


def forward(
    terms: tuple[Tensor, ...], where: tuple[Tensor, Tensor, Tensor], seed: Tensor, rate: float, precision: str
) -> Tensor:
    """Return the output of the network for each reached answer; ``second`` includes the factor of dropout.

    Args:
        terms: Of queries, facts, facts of the query's relation, and reached answers, the weight of the latter, and the
            weight and bias of the second layer and the weight of the third, as ``TrustNetwork`` takes them.
        where: For each reached answer, its query and its positions among both kinds of facts, -1 for none.
        seed: Of dropout. Shape ``(1,)``.
        rate: Of dropout.
        precision: PRECISE or FAST.
    """
    output = torch.empty(len(where[0]), device=terms[0].device)
    _launch(_forward_kernel, terms, where, seed, rate, (output,), precision)
    return output


def backward(
    terms: tuple[Tensor, ...], where: tuple[Tensor, Tensor, Tensor], seed: Tensor, rate: float, gradient: Tensor,
    precision: str = FAST,
) -> list[Tensor]:  # fmt: skip
    """Return the gradients of all terms, given that of the output."""
    gradients = [torch.zeros(each.shape, device=each.device) for each in terms]
    _launch(_backward_kernel, terms, where, seed, rate, (gradient, *gradients), precision, UNITS)
    return gradients


def _launch(kernel, terms, where, seed, rate, outputs, precision: str, units: int | None = None) -> None:
    """Run a kernel that handles some units of the second layer at a time, or all of them."""
    of_query, of_facts, of_same, of_pair, weight, second, bias, third = (each.contiguous() for each in terms)
    row, fact_of, same_of = where
    num_rows, (first, inputs), following = len(row), weight.shape, len(second)
    if num_rows == 0:
        return
    blocks = [max(triton.next_power_of_2(size), 16) for size in (inputs, first, units or following)]
    kernel[(min(triton.cdiv(num_rows, ROWS), PROGRAMS),)](
        row, of_query, fact_of, of_facts, same_of, of_same, of_pair, num_rows, weight, second, bias, third, seed, rate,
        *outputs, inputs, first, following, ROWS, *blocks, rate > 0, precision, num_warps=4, num_stages=1,
    )  # fmt: skip
