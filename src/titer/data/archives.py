"""Errors of ``.zip`` archives that cannot be read."""

import zipfile
import zlib
from lzma import LZMAError

UNREADABLE = (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, zlib.error, LZMAError)
"""What ``zipfile`` raises for damaged, shortened and encrypted archives, and for unknown kinds of compression."""
