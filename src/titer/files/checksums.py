"""SHA-256 checksums of files and of what they contain."""

import hashlib
import json
from pathlib import Path
from typing import Any

from titer.files.atomic import write_json, write_text

KEY = "sha256"
COMMENT = "# sha256 "


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksum(value: Any) -> str:
    """Return the SHA-256 of plain values, which does not depend on the order of keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def write_sealed_json(path: Path, value: dict[str, Any]) -> None:
    """Write readable JSON with its checksum, atomically."""
    write_json(path, {**value, KEY: checksum(value)})


def read_sealed_json(path: Path) -> dict[str, Any]:
    """Read a JSON object, and check its checksum. One without a checksum, as older versions wrote it, is accepted.

    Raises:
        ValueError: If the file is not a JSON object, or was changed.
        OSError: If the file cannot be read.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("its brackets are nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    if KEY in value and value.pop(KEY) != checksum(value):
        raise ValueError("its checksum does not match its content")
    return value


def write_sealed_text(path: Path, text: str) -> None:
    """Write a text file whose first line is a comment with the checksum of the rest, atomically."""
    write_text(path, f"{COMMENT}{hashlib.sha256(text.encode()).hexdigest()}\n{text}")


def check_sealed_text(path: Path) -> None:
    """Check the checksum in the first line of a text file. A file without one is accepted.

    Raises:
        ValueError: If the file was changed.
        OSError: If the file cannot be read.
    """
    first, _, rest = path.read_bytes().partition(b"\n")
    expected = COMMENT + hashlib.sha256(rest).hexdigest()
    if first.startswith(COMMENT.encode()) and first != expected.encode():
        raise ValueError("its checksum does not match its content")
