"""Plans: what an optimisation step reads of the facts, as tensors that do not depend on the weights.

A plan is a frozen dataclass of tensors and of smaller plans. It is the same in every epoch, so it can be kept. Its
tensors have other sizes for every batch. Padded to given sizes, the plans of similar batches have tensors of the same
shapes, so one recorded CUDA graph serves all of them.

Each tensor names the dimension of its rows, and how it is padded: ``Annotated[Tensor, Column("paths", of="pairs")]``.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import torch
from torch import Tensor

PlanType = TypeVar("PlanType")
Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Column:
    """How a tensor is padded: its rows are those of a dimension, and added rows have one value.

    The value is ``fill``, or the last row of the dimension ``of``, if the tensor holds positions in that dimension. A
    padded dimension is always larger than what is in it, so that its last row is padding.
    """

    dim: str
    fill: float = 0
    of: str | None = None


@dataclass(frozen=True)
class Renamed:
    """The dimensions of a smaller plan, by the names that its own columns use."""

    dims: Mapping[str, str]


class Unplanned:
    """Marks what an optimisation step does not read; it is None in a plan that is kept."""


def lean(plan: PlanType) -> PlanType:
    """Return a plan without what an optimisation step does not read, and with integers of 32 bits."""

    def changed(name: str, value: Any) -> Any:
        del name
        return value.int() if isinstance(value, Tensor) and value.dtype == torch.int64 else value

    return _map(plan, changed)


def sizes_of(plan: Any) -> dict[str, int]:
    """Return the number of rows of every dimension."""
    return {column.dim: len(value) for column, value in _columns(plan, {})}


def pad(plan: PlanType, sizes: Sizes) -> PlanType:
    """Return a plan with the given numbers of rows, each larger than what the plan has."""
    return _pad(plan, sizes, {})


def tensors(plan: Any) -> list[Tensor]:
    """Return the tensors of a plan, in an order that depends on its type alone."""
    return [value for _, value in _columns(plan, {})]


def row_bytes(plan: Any) -> dict[str, int]:
    """Return the memory of a row of every dimension, in bytes."""
    found: dict[str, int] = {}
    for column, value in _columns(plan, {}):
        found[column.dim] = found.get(column.dim, 0) + value.element_size() * math.prod(value.shape[1:])
    return found


def num_bytes(plan: Any) -> int:
    """Return the memory of a plan."""
    return sum(value.numel() * value.element_size() for value in tensors(plan))


def _map(plan: Any, changed: Any) -> Any:
    values: dict[str, Any] = {}
    for name, mark in _marks(type(plan)).items():
        value = getattr(plan, name)
        if isinstance(mark, Unplanned):
            value = None
        elif is_dataclass(value):
            value = _map(value, changed)
        values[name] = changed(name, value)
    return replace(plan, **values)


def _pad(plan: Any, sizes: Sizes, names: Mapping[str, str]) -> Any:
    values: dict[str, Any] = {}
    for name, mark in _marks(type(plan)).items():
        value = getattr(plan, name)
        if isinstance(mark, Column) and value is not None:
            fill = mark.fill if mark.of is None else sizes[names.get(mark.of, mark.of)] - 1
            padded = value.new_full((sizes[names.get(mark.dim, mark.dim)], *value.shape[1:]), fill)
            padded[: len(value)] = value
            values[name] = padded
        elif is_dataclass(value):
            values[name] = _pad(value, sizes, mark.dims if isinstance(mark, Renamed) else {})
    return replace(plan, **values)


def _columns(plan: Any, names: Mapping[str, str]) -> Iterator[tuple[Column, Tensor]]:
    for name, mark in _marks(type(plan)).items():
        value = getattr(plan, name)
        if isinstance(mark, Column) and value is not None:
            yield replace(mark, dim=names.get(mark.dim, mark.dim)), value
        elif is_dataclass(value):
            yield from _columns(value, mark.dims if isinstance(mark, Renamed) else {})


@cache
def _marks(kind: type) -> dict[str, Any]:
    """Return how each field of a plan is marked; None for one without a mark."""
    hints = get_type_hints(kind, include_extras=True)
    marks: dict[str, Any] = {}
    for field in fields(kind):
        hint = hints[field.name]
        found = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        marks[field.name] = found[0] if found else None
    return marks
