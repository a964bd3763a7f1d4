"""Reader of TGB's candidate files: pickles of a dictionary from (time, subject, relation) to arrays of entities.

Unpickling can run any code. This reader instead interprets the few instructions that such a file consists of, calls
nothing that the file names, and rejects everything else. Memory is proportional to the size of the file: no number that
is written in it is trusted, and arrays that together have more bytes than the file are rejected.
"""

import mmap
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from titer.data.tgb.pickled import (
    DICTIONARY,
    KINDS,
    MARK,
    MAX_TEXT,
    NAMES,
    CandidateArrays,
    IntegerType,
    PickledName,
    PickledValues,
    RejectedError,
)
from titer.errors import DataError

MAX_STACK = 1 << 14
"""Values that wait at once; files have about two thousand."""
STOP, MEMOIZE = 0x2E, 0x94


def read_candidate_file(path: Path) -> CandidateArrays:
    """Read a file ``*_ns.pkl`` without executing anything.

    Args:
        path: The file.

    Raises:
        DataError: If the file does not exist, is cut off, or has other content than a dictionary from three integers to
            arrays of integers.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _Machine(content).run()
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    except RejectedError as error:
        raise DataError(f"{path} is not a candidate file of TGB: {error}") from None


class _Machine:
    """The stack machine of pickle, with the instructions of candidate files only."""

    def __init__(self, content: mmap.mmap):
        self.content, self.size, self.at = content, len(content), 0
        self.stack: list[Any] = []
        self.memo: list[Any] = []
        self.keys, self.ranges, self.values = array("q"), array("q"), array("i")
        self.has_dictionary = False
        self.num_stored = 0

    def run(self) -> CandidateArrays:
        """Interpret the file."""
        content, size, stack = self.content, self.size, self.stack
        table: list[Callable[[_Machine], None] | None] = [self.INSTRUCTIONS.get(code) for code in range(256)]
        try:
            while self.at < size:
                code = content[self.at]
                self.at += 1
                if code == MEMOIZE:
                    self.memoize()
                    continue
                if code == STOP:
                    if len(stack) != 1 or stack[0] is not DICTIONARY:
                        raise RejectedError("it does not consist of one dictionary")
                    return self._result()
                instruction = table[code]
                if instruction is None:
                    raise RejectedError(f"instruction {bytes([code])!r} before byte {self.at} is not allowed")
                instruction(self)
                if len(stack) > MAX_STACK:
                    raise RejectedError("it is nested too deeply")
        except (IndexError, AttributeError, TypeError, OverflowError) as error:
            raise RejectedError(f"an instruction before byte {self.at} has wrong values") from error
        raise RejectedError("it is cut off")

    def _result(self) -> CandidateArrays:
        if not self.keys or not self.values:
            raise RejectedError("it is empty")
        ranges = np.frombuffer(self.ranges, np.int64).reshape(-1, 2)
        keys = np.frombuffer(self.keys, np.int64).reshape(-1, 3)
        return CandidateArrays(keys, ranges[:, 0], ranges[:, 1], np.frombuffer(self.values, np.int32))

    def take(self, count: int) -> bytes:
        """Return the next bytes of the file."""
        end = self.at + count
        if end > self.size:
            raise RejectedError("it is cut off")
        found = self.content[self.at : end]
        self.at = end
        return found

    def skip(self, count: int) -> None:
        """Skip bytes of the file: what they say makes no difference here."""
        self.at += count

    def number(self, count: int) -> int:
        """Return an unsigned integer of the file."""
        return int.from_bytes(self.take(count), "little")

    def text(self, count: int) -> None:
        """Push a short text."""
        if count > MAX_TEXT:
            raise RejectedError("it has long texts")
        self.stack.append(self.take(count).decode("utf-8"))

    def remember(self, place: int) -> None:
        """Store the top value under a number, which must be the next one."""
        if place != len(self.memo):
            raise RejectedError("its values are not numbered in order")
        self.memoize()

    def memoize(self) -> None:
        """Store the top value under the next number."""
        value = self.stack[-1]
        # No file refers to the bytes of an array again, and keeping them would double the memory.
        self.memo.append(None if isinstance(value, bytes) and len(value) > MAX_TEXT else value)

    def name(self) -> None:
        """Replace a module and a name by what they refer to."""
        name, module = self.stack.pop(), self.stack.pop()
        # Text only: printing tuples of tuples of tuples could take forever.
        if not isinstance(name, str) or not isinstance(module, str):
            raise RejectedError("a name is not text")
        self.stack.append(self.find(f"{module} {name}"))

    def find(self, full: str) -> PickledName:
        """Return what a name refers to."""
        if full not in NAMES:
            raise RejectedError(f"it refers to {full.replace(' ', '.')!r}, which is not allowed")
        return NAMES[full]

    def named_by_lines(self) -> None:
        """Push what two lines of text refer to."""
        lines: list[str] = []
        for _ in range(2):
            end = self.content.find(b"\n", self.at, self.at + MAX_TEXT)
            if end < 0:
                raise RejectedError("it has long texts")
            lines.append(self.take(end - self.at).decode("utf-8"))
            self.at += 1
        self.stack.append(self.find(" ".join(lines)))

    def since_mark(self) -> list[Any]:
        """Return the values after the latest mark."""
        at = len(self.stack) - 1
        while self.stack[at] is not MARK:
            at -= 1
            if at < 0:
                raise RejectedError("a mark is missing")
        found = self.stack[at + 1 :]
        del self.stack[at:]
        return found

    def group(self, count: int) -> None:
        """Replace the top values by a tuple."""
        if count > len(self.stack):
            raise RejectedError("a value is missing")
        found = tuple(self.stack[-count:])
        del self.stack[-count:]
        self.stack.append(found)

    def reduce(self) -> None:
        """Replace a name and its arguments by a value, made here."""
        arguments, name = self.stack.pop(), self.stack.pop()
        if not isinstance(arguments, tuple):
            raise RejectedError("arguments are not a tuple")
        if name is PickledName.SCALAR:
            kind, content = arguments
            if not isinstance(kind, IntegerType) or len(content) != kind.size:
                raise RejectedError("a number has the wrong length")
            self.stack.append(int.from_bytes(content, kind.order, signed=kind.is_signed))
        elif name is PickledName.FROM_BUFFER:
            content, kind, shape, order = arguments
            if order != "C":
                raise RejectedError("an array has an unknown order")
            found = PickledValues()
            self.store(found, content, kind, shape)
            self.stack.append(found)
        elif name is PickledName.DTYPE:
            code, *options = arguments
            if not isinstance(code, str) or code not in KINDS or [bool(option) for option in options] != [False, True]:
                raise RejectedError("values of other types than integers are not allowed")
            self.stack.append(IntegerType(code))
        elif name is PickledName.RECONSTRUCT and arguments[0] is PickledName.NDARRAY:
            self.stack.append(PickledValues())
        else:
            raise RejectedError("a call is not allowed")

    def build(self) -> None:
        """Complete the top value."""
        state, value = self.stack.pop(), self.stack[-1]
        if isinstance(value, IntegerType):
            if state[1] not in ("<", ">", "|") or any(field is not None for field in state[2:5]):
                raise RejectedError("a type is not allowed")
            value.set_order(state[1])
        elif isinstance(value, PickledValues) and value.start is None:
            version, shape, kind, is_fortran, content = state
            if version != 1 or is_fortran not in (False, True):
                raise RejectedError("an array is not allowed")
            self.store(value, content, kind, shape)
        else:
            raise RejectedError("a state is not allowed")

    def store(self, found: PickledValues, content: Any, kind: Any, shape: Any) -> None:
        """Append the entities of an array to those read so far."""
        if not isinstance(content, bytes) or len(shape) != 1 or len(content) != shape[0] * kind.size:
            raise RejectedError("an array does not have the size that it says")
        # The bytes of every array are in the file, but the arguments of a call can be used again in a few bytes.
        self.num_stored += len(content)
        if self.num_stored > self.size:
            raise RejectedError("its arrays are larger than the file")
        entities = np.frombuffer(content, kind.dtype)
        if len(entities) and entities.max() > kind.max_entity:
            raise RejectedError("an entity has an impossible id")
        found.start, found.length = len(self.values), len(entities)
        self.values.frombytes(entities.astype(np.int32).tobytes())

    def dictionary(self) -> None:
        """Push the dictionary."""
        if self.has_dictionary:
            raise RejectedError("it has several dictionaries")
        self.has_dictionary = True
        self.stack.append(DICTIONARY)

    def put(self, items: list[Any]) -> None:
        """Store keys and values of the dictionary, which is on top."""
        if self.stack[-1] is not DICTIONARY:
            raise RejectedError("entries without a dictionary")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) is not tuple or len(key) != 3 or any(type(part) is not int for part in key):
                raise RejectedError("a key is not a tuple of three integers")
            if type(value) is not PickledValues or value.start is None:
                raise RejectedError("a value is not an array of integers")
            self.keys.extend(key)
            self.ranges.extend((value.start, value.length))

    def put_one(self) -> None:
        """Store one entry of the dictionary."""
        items = self.stack[-2:]
        del self.stack[-2:]
        self.put(items)

    # The names of these instructions are in the documentation of Python's pickletools.
    INSTRUCTIONS: ClassVar[dict[int, Callable[["_Machine"], None]]] = {
        0x80: lambda m: m.skip(1),  # PROTO
        0x95: lambda m: m.skip(8),  # FRAME
        0x28: lambda m: m.stack.append(MARK),  # MARK
        0x4E: lambda m: m.stack.append(None),  # NONE
        0x88: lambda m: m.stack.append(True),  # NEWTRUE
        0x89: lambda m: m.stack.append(False),  # NEWFALSE
        0x4B: lambda m: m.stack.append(m.number(1)),  # BININT1
        0x4D: lambda m: m.stack.append(m.number(2)),  # BININT2
        0x4A: lambda m: m.stack.append(int.from_bytes(m.take(4), "little", signed=True)),  # BININT
        0x8A: lambda m: m.stack.append(int.from_bytes(m.take(m.number(1)), "little", signed=True)),  # LONG1
        0x8C: lambda m: m.text(m.number(1)),  # SHORT_BINUNICODE
        0x58: lambda m: m.text(m.number(4)),  # BINUNICODE
        0x43: lambda m: m.stack.append(m.take(m.number(1))),  # SHORT_BINBYTES
        0x42: lambda m: m.stack.append(m.take(m.number(4))),  # BINBYTES
        0x8E: lambda m: m.stack.append(m.take(m.number(8))),  # BINBYTES8
        0x96: lambda m: m.stack.append(m.take(m.number(8))),  # BYTEARRAY8
        0x29: lambda m: m.stack.append(()),  # EMPTY_TUPLE
        0x85: lambda m: m.group(1),  # TUPLE1
        0x86: lambda m: m.group(2),  # TUPLE2
        0x87: lambda m: m.group(3),  # TUPLE3
        0x74: lambda m: m.stack.append(tuple(m.since_mark())),  # TUPLE
        0x71: lambda m: m.remember(m.number(1)),  # BINPUT
        0x72: lambda m: m.remember(m.number(4)),  # LONG_BINPUT
        0x68: lambda m: m.stack.append(m.memo[m.number(1)]),  # BINGET
        0x6A: lambda m: m.stack.append(m.memo[m.number(4)]),  # LONG_BINGET
        0x63: named_by_lines,  # GLOBAL
        0x93: name,  # STACK_GLOBAL
        0x52: reduce,  # REDUCE
        0x62: build,  # BUILD
        0x7D: dictionary,  # EMPTY_DICT
        0x73: put_one,  # SETITEM
        0x75: lambda m: m.put(m.since_mark()),  # SETITEMS
    }
