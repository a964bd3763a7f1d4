"""Choose the reader of a file by its name."""

from pathlib import Path

from titer.data.readers.arrow import ArrowFile
from titer.data.readers.base import Source
from titer.data.readers.delimited import DelimitedFile
from titer.data.readers.json_lines import JsonLines
from titer.data.readers.rejected_rows import has_rejected_rows
from titer.errors import DataError

COMPRESSED = (".gz", ".bz2", ".zst")
TEXT = {".csv": ",", ".tsv": "\t", ".txt": "\t", ".tab": "\t"}
"""Suffixes of delimited text, and what separates its fields unless another delimiter is given."""
ARROW = (".parquet", ".feather", ".arrow")
JSON = (".jsonl", ".ndjson", ".json")
EXCEL = (".xlsx", ".xlsm")
RDF = (".nq", ".nt")
KNOWN = ".csv, .tsv, .txt, .parquet, .feather, .jsonl, .xlsx, .nq, .zip"


def open_source(
    path: Path,
    *,
    names: list[str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    name: str | None = None,
) -> Source:
    """Return the reader for a file, chosen by its suffix.

    Text files may be compressed and end with ``.gz``, ``.bz2`` or ``.zst``.

    Args:
        path: The file.
        names: Column names of a text file without a header row.
        delimiter: What separates the fields of a text file; by default a comma for .csv, a tab for .tsv and .txt.
        encoding: The encoding of a text file; by default UTF-8.
        name: What messages call the file; by default its path.

    Raises:
        DataError: If there is no such file, it is empty, or its format is unknown.
    """
    shown = name or str(path)
    if not path.is_file():
        raise DataError(f"{shown}: no such file")
    if path.stat().st_size == 0:
        raise DataError(f"{shown}: the file is empty")
    suffix = plain_suffix(path)
    if suffix in ARROW:
        source: Source = ArrowFile(path)
    elif suffix in JSON:
        source = JsonLines(path)
    elif suffix in RDF:
        from titer.data.readers.nquads import NQuads

        source = NQuads(path)
    elif suffix in EXCEL:
        from titer.data.readers.excel import ExcelFile

        source = ExcelFile(path, names)
    elif suffix == ".csv" and (names or delimiter or encoding) and has_rejected_rows(path):
        source = DelimitedFile(path, ",")  # the options describe the file that the rows were rejected from
    elif suffix in TEXT or delimiter:
        source = DelimitedFile(path, delimiter or TEXT[suffix], names, encoding or "utf-8")
    else:
        raise DataError(f"{shown}: unknown format {suffix!r} (known: {KNOWN}); --delimiter reads the file as text")
    source.name = shown
    return source


def plain_suffix(path: Path) -> str:
    """Return the suffix of a file without that of its compression."""
    return (path.with_suffix("") if path.suffix.lower() in COMPRESSED else path).suffix.lower()
