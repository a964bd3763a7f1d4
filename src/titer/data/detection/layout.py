"""Detect encoding, delimiter and header of a text file."""

import codecs
import csv
import io
import unicodedata
from collections import Counter
from dataclasses import dataclass

from titer.data.detection.dates import guess_dates

DELIMITERS = (",", ";", "\t", "|", ":", "^")
MAX_ROWS = 200
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SINGLE_BYTE = ("cp1252", "mac_roman", "cp1250", "cp1251", "latin-1")


@dataclass(frozen=True)
class Layout:
    """How a text file is written."""

    encoding: str
    delimiter: str
    has_header: bool
    width: int
    """Number of columns."""


def detect_layout(
    head: bytes, foreign: bytes = b"", default_delimiter: str = ",", encoding: str | None = None
) -> Layout:
    """Detect the layout of a text file.

    Args:
        head: The beginning of the file.
        foreign: Some text around bytes of the file that are not UTF-8; empty if there are none.
        default_delimiter: The delimiter to prefer if several are possible.
        encoding: The encoding, if it is known.
    """
    encoding = encoding or detect_encoding(head, foreign)
    try:
        text = codecs.getincrementaldecoder(encoding)("replace").decode(head).removeprefix("\ufeff")
    except UnicodeError:  # UTF-16 without a mark of its byte order
        text = head.decode("latin-1")
    # The last line may be cut off.
    lines = text.splitlines(keepends=True)
    text = "".join(lines[:-1] if len(lines) > 1 else lines)
    delimiter = _detect_delimiter(text, default_delimiter)
    rows = _rows(text, delimiter)
    width = _width(rows)[0]
    return Layout(encoding, delimiter, _has_header(rows, width), width)


def detect_encoding(head: bytes, foreign: bytes = b"") -> str:
    """Detect the encoding of text from its beginning and from parts that are not UTF-8."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    if zeros := head.count(b"\0"):
        even = head[::2].count(b"\0")
        return "utf-16-le" if even < zeros / 2 else "utf-16-be"
    if not foreign and _is_utf8(head):
        return "utf-8"
    return max(_SINGLE_BYTE, key=lambda encoding: _plausibility(foreign or head, encoding))


def _is_utf8(text: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(text)  # a character may be cut off at the end
    except UnicodeDecodeError:
        return False
    return True


def _plausibility(text: bytes, encoding: str) -> float:
    """Return how much the foreign characters of a decoded text look like those of names."""
    decoded = text.decode(encoding, "replace")
    score = 0.0
    for position, character in enumerate(decoded):
        if character.isascii():
            continue
        before, after = decoded[position - 1 : position], decoded[position + 1 : position + 2]
        category = unicodedata.category(character)
        if category == "Ll":
            score += 2 if before.isalpha() or after.isalpha() else 0.5
        elif category == "Lu":  # a capital inside a word is a sign of a wrong encoding
            score += -2 if before.islower() else 1
        elif character in "’‘“”–—€£°«»…":
            score += 1
        else:
            score -= 2
        if (
            category in ("Ll", "Lu")
            and "LATIN" not in unicodedata.name(character, "")
            and before.isascii()
            and before.isalpha()
        ):
            score -= 3  # one foreign letter inside a Latin word
    return score


def _rows(text: str, delimiter: str) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if any(cell.strip() for cell in row):
                rows.append(row)
            if len(rows) >= MAX_ROWS:
                break
    except csv.Error:
        pass
    return rows


def _width(rows: list[list[str]]) -> tuple[int, float]:
    """Return the most frequent number of columns, and the share of rows that have it."""
    counts = Counter(len(row) for row in rows)
    if not counts:
        return 1, 0.0
    width, count = counts.most_common(1)[0]
    return width, count / len(rows)


def _detect_delimiter(text: str, default: str) -> str:
    """Return the delimiter that splits most rows into the same number of columns, at least two."""

    def quality(delimiter: str) -> tuple[bool, float, int]:
        width, share = _width(_rows(text, delimiter))
        return width > 1, round(share, 1), width

    best = max(dict.fromkeys((default, *DELIMITERS)), key=quality)
    # The default wins unless it cannot be right: fields of text may contain any character.
    good, share, width = quality(default)
    return default if good and share >= 0.9 and width >= 3 else best


def _has_header(rows: list[list[str]], width: int) -> bool:
    """Return whether the first row has names: where the other rows have dates or numbers, it has other text."""
    rows = [row for row in rows if len(row) == width]
    if len(rows) < 2:
        return True
    evidence = 0
    for column in range(width):
        first, others = rows[0][column].strip(), [row[column] for row in rows[1:]]
        if guess_dates(others) is not None:
            evidence += 1 if guess_dates([first]) is None else -1
    if evidence:
        return evidence > 0
    # Without dates and numbers: names of columns are not repeated as values.
    return not any(rows[0][column] in {row[column] for row in rows[1:]} for column in range(width))
