"""The items of a JSON list, read one after the other."""

import codecs
import json
from collections.abc import Iterator
from json import JSONDecodeError
from typing import Any, BinaryIO

CHUNK = 1 << 20
"""Bytes that are read at once."""
MAX_ITEM = 1 << 26
"""Characters of an item at most, so that a missing quote does not read a large file into memory."""
LONGEST_TOKEN = 16
"""More characters than a word, an escape or the end of a number has."""
BLANK = " \t\r\n"


def array_items(stream: BinaryIO, chunk: int = CHUNK) -> Iterator[Any]:
    """Yield the items of a JSON list. Only one item and a part of the text are in memory.

    Args:
        stream: UTF-8 text that begins with ``[``; a byte order mark is skipped.
        chunk: Bytes to read at once.

    Raises:
        ValueError: If the text is not a JSON list, or not UTF-8.
    """
    reader = _Reader(stream, chunk)
    if reader.next_character() != "[":
        raise ValueError("the text does not begin with [")
    reader.skip()
    if reader.next_character() != "]":
        yield reader.item()
        while (separator := reader.next_character()) == ",":
            reader.skip()
            yield reader.item()
        if separator != "]":
            raise ValueError("the list ends in the middle" if not separator else f"expected , or ], not {separator!r}")
    reader.skip()
    if rest := reader.next_character():
        raise ValueError(f"{rest!r} follows the end of the list")


class _Reader:
    """Text that is read in pieces, from a position on."""

    def __init__(self, stream: BinaryIO, chunk: int):
        self.stream, self.chunk = stream, chunk
        self.utf8 = codecs.getincrementaldecoder("utf-8-sig")()
        self.decoder = json.JSONDecoder()
        self.buffer, self.position, self.is_complete = "", 0, False

    def next_character(self) -> str:
        """Return the next character that is not blank, without consuming it; empty at the end."""
        while True:
            while self.position < len(self.buffer):
                if self.buffer[self.position] not in BLANK:
                    return self.buffer[self.position]
                self.position += 1
            if not self._read_more():
                return ""

    def skip(self) -> None:
        """Consume the next character."""
        self.position += 1

    def item(self) -> Any:
        """Consume and return the next value."""
        self.next_character()
        while True:
            try:
                value, end = self.decoder.raw_decode(self.buffer, self.position)
            except JSONDecodeError as error:
                if not self._may_be_cut_off(error) or not self._read_more():
                    raise
                continue
            # A number near the end of the buffer may go on: 1. may become 1.5.
            length, near_end = end - self.position, end > len(self.buffer) - LONGEST_TOKEN
            if near_end and not isinstance(value, dict | list | str) and self._read_more():
                continue
            self.position += length
            return value

    def _may_be_cut_off(self, error: JSONDecodeError) -> bool:
        """Return whether an item that cannot be decoded may just not be complete yet."""
        if len(self.buffer) - self.position > MAX_ITEM:
            raise ValueError(f"an item has more than {MAX_ITEM:,} characters")
        at_end = error.pos >= len(self.buffer) - LONGEST_TOKEN
        return at_end or error.msg.startswith("Unterminated string")

    def _read_more(self) -> bool:
        """Append to the buffer; return whether there was more to read."""
        if self.is_complete:
            return False
        kept = self.buffer[self.position :]
        # As much again as is kept, so that a long item is not decoded again for every chunk.
        more = self.stream.read(max(self.chunk, len(kept)))
        self.buffer, self.position, self.is_complete = kept + self.utf8.decode(more, final=not more), 0, not more
        return bool(more)
