"""What a candidate file of TGB may contain, and what becomes of it."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal

import numpy as np
from numpy.typing import NDArray

MAX_TEXT = 64
MAX_ENTITY = 2**31 - 1


@dataclass(frozen=True)
class CandidateArrays:
    """The content of a candidate file: for each key a range of values."""

    keys: NDArray[np.int64]  # (keys, 3) time, subject, relation
    start: NDArray[np.int64]  # (keys,)
    length: NDArray[np.int64]  # (keys,)
    values: NDArray[np.int32]  # (values,)


class RejectedError(Exception):
    """The file has content that candidate files do not have."""


class PickledName(Enum):
    """What a file may refer to. Nothing of it is called."""

    DTYPE = auto()
    NDARRAY = auto()
    SCALAR = auto()
    FROM_BUFFER = auto()
    RECONSTRUCT = auto()


NAMES = {
    "numpy dtype": PickledName.DTYPE,
    "numpy ndarray": PickledName.NDARRAY,
    # The module was renamed in numpy 2.
    **{f"numpy.{core}.multiarray scalar": PickledName.SCALAR for core in ("core", "_core")},
    **{f"numpy.{core}.multiarray _reconstruct": PickledName.RECONSTRUCT for core in ("core", "_core")},
    **{f"numpy.{core}.numeric _frombuffer": PickledName.FROM_BUFFER for core in ("core", "_core")},
}
KINDS = {f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)}


class IntegerType:
    """A type of integers; its byte order follows in a second instruction."""

    def __init__(self, code: str):
        self.size, self.is_signed = int(code[1]), code[0] == "i"
        self.max_entity = min(MAX_ENTITY, (1 << (8 * self.size - self.is_signed)) - 1)
        self.set_order("<")

    def set_order(self, mark: str) -> None:
        """Set the order of the bytes: ``<``, ``>``, or ``|`` where there is only one."""
        self.order: Literal["big", "little"] = "big" if mark == ">" else "little"
        # Read without a sign, negative ids are too large.
        self.dtype = np.dtype(f"{mark}u{self.size}")


class PickledValues:
    """A range of the values that were read so far; None until its content is known."""

    __slots__ = ("length", "start")

    def __init__(self) -> None:
        self.start: int | None = None
        self.length = 0


MARK, DICTIONARY = object(), object()
