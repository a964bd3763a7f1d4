"""Files that survive a crash: atomic writes, locks and checksums."""

from titer.files.atomic import atomic_directory, atomic_path, write_json, write_text
from titer.files.checksums import (
    check_sealed_text,
    checksum,
    read_sealed_json,
    sha256_of,
    write_sealed_json,
    write_sealed_text,
)
from titer.files.leftovers import is_leftover, remove_leftovers
from titer.files.locks import locked

__all__ = [
    "atomic_directory",
    "atomic_path",
    "check_sealed_text",
    "checksum",
    "is_leftover",
    "locked",
    "read_sealed_json",
    "remove_leftovers",
    "sha256_of",
    "write_json",
    "write_sealed_json",
    "write_sealed_text",
    "write_text",
]
