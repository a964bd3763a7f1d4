"""Choose the reader of a file by its name."""

from pathlib import Path

from titer.data.readers.arrow import ArrowFile
from titer.data.readers.base import Source
from titer.data.readers.delimited import DelimitedFile
from titer.data.readers.json_lines import JsonLines
from titer.errors import DataError

COMPRESSED = (".gz", ".bz2", ".zst")
KNOWN = ".csv, .tsv, .txt, .parquet, .feather, .jsonl"


def open_source(
    path: Path, *, names: list[str] | None = None, delimiter: str | None = None, encoding: str = "utf-8"
) -> Source:
    """Return the reader for a file, chosen by its suffix.

    Text files may be compressed and end with ``.gz``, ``.bz2`` or ``.zst``.

    Args:
        path: The file.
        names: Column names of a text file without a header row.
        delimiter: What separates the fields of a text file; by default a comma for .csv, a tab for .tsv and .txt.
        encoding: The encoding of a text file.

    Raises:
        DataError: If there is no such file, it is empty, or its format is unknown.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    if path.stat().st_size == 0:
        raise DataError(f"{path}: the file is empty")
    plain = path.with_suffix("") if path.suffix in COMPRESSED else path
    match plain.suffix.lower():
        case ".parquet" | ".feather" | ".arrow":
            return ArrowFile(path)
        case ".jsonl" | ".ndjson" | ".json":
            return JsonLines(path)
        case ".tsv" | ".txt" | ".tab":
            return DelimitedFile(path, delimiter or "\t", names, encoding)
        case ".csv":
            return DelimitedFile(path, delimiter or ",", names, encoding)
        case suffix:
            if delimiter:
                return DelimitedFile(path, delimiter, names, encoding)
            raise DataError(f"{path}: unknown format {suffix!r} (known: {KNOWN}); --delimiter reads the file as text")
