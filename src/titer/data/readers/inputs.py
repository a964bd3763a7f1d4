"""The files that an import reads: named files, folders, patterns, archives, web addresses and standard input."""

import shutil
import sys
import zipfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from titer.data.archives import UNREADABLE
from titer.data.readers.remote import download, file_name, is_web_address
from titer.data.readers.sources import ARROW, EXCEL, JSON, TEXT, plain_suffix
from titer.errors import DataError

STANDARD_INPUT = "-"
READABLE = {*TEXT, *ARROW, *JSON, *EXCEL, ".zip"}
# The first bytes of formats that are not text, with the suffix of their files.
_MAGIC = (
    (b"PAR1", ".parquet"),
    (b"ARROW1", ".feather"),
    (b"PK\x03\x04", ".zip"),
    (b"\x1f\x8b", ".csv.gz"),
    (b"BZh", ".csv.bz2"),
    (b"\x28\xb5\x2f\xfd", ".csv.zst"),
    (b"{", ".jsonl"),
    (b"[", ".json"),
)


@dataclass(frozen=True)
class InputFile:
    """A file to read, and what messages call it."""

    path: Path
    name: str


@contextmanager
def open_inputs(
    paths: Sequence[str | Path], query: str | None = None, *, wanted: str = "files to import"
) -> Generator[list[InputFile]]:
    """Yield the files to read. What is not a file is copied to temporary files, not into memory.

    Args:
        paths: Files, folders, patterns such as ``data/*.csv``, ``.zip`` archives, ``http`` and ``https`` addresses, or
            ``-`` for standard input; with a query, the URLs of databases.
        query: An SQL query whose result is read.
        wanted: What messages call the files.

    Raises:
        DataError: If nothing is found.
    """
    with TemporaryDirectory(prefix="titer-") as temporary:
        folder = Path(temporary)
        if query is not None:
            from titer.data.readers.sql import run_query

            yield [run_query(str(url), query, folder / f"{i}.feather") for i, url in enumerate(paths)]
            return
        yield [found for path in paths for found in _unpack(_locate(str(path), folder, wanted), folder)]


def _locate(path: str, folder: Path, wanted: str) -> list[InputFile]:
    if path == STANDARD_INPUT:
        return [_read_standard_input(folder)]
    if is_web_address(path):
        return [_download(path, folder)]
    if "://" in path:
        raise DataError(f"{path} is not a file, and not an http or https address; a database is read with --query")
    if Path(path).is_dir():
        found = [file for file in sorted(Path(path).rglob("*")) if _is_readable(file)]
        if not found:
            raise DataError(f"{path} has no {wanted} ({', '.join(sorted(READABLE))})")
        return [InputFile(file, str(file)) for file in found]
    if has_magic(path) and not Path(path).exists():
        start = Path(Path(path).anchor)
        found = [file for file in sorted(start.glob(str(Path(path).relative_to(start)))) if file.is_file()]
        if not found:
            raise DataError(f"no file matches {path!r}")
        return [InputFile(file, str(file)) for file in found]
    return [InputFile(Path(path), path)]


def _is_readable(file: Path) -> bool:
    return file.is_file() and plain_suffix(file) in READABLE and not file.name.startswith((".", "~$"))


def _unpack(found: list[InputFile], folder: Path) -> Iterator[InputFile]:
    """Yield the files, with those inside of archives instead of the archives."""
    for file in found:
        if file.path.suffix.lower() != ".zip" or not file.path.is_file():
            yield file
            continue
        try:
            yield from _members(file, folder)
        except UNREADABLE as error:
            raise DataError(f"{file.name}: cannot be read as a .zip archive: {error}") from error


def _members(archive: InputFile, folder: Path) -> Iterator[InputFile]:
    with zipfile.ZipFile(archive.path) as file:
        # macOS adds hidden copies of the files.
        members = [
            member
            for member in sorted(file.namelist())
            if plain_suffix(Path(member)) in READABLE - {".zip"}
            and not member.startswith("__MACOSX/")
            and not PurePosixPath(member).name.startswith(".")
        ]
        if not members:
            raise DataError(f"{archive.name}: the archive has no file that can be imported")
        for member in members:
            # A member's name is not trusted: only its ending is used.
            ending = "".join(PurePosixPath(member).suffixes[-2:])
            target = folder / f"{len(list(folder.iterdir()))}{ending if ending.startswith('.') else ''}"
            with file.open(member) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy)
            yield InputFile(target, f"{archive.name}/{member}")


def _read_standard_input(folder: Path) -> InputFile:
    """Copy standard input to a file whose suffix says what it contains."""
    copy = folder / "standard-input"
    with copy.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return InputFile(_with_suffix(copy), "standard input")


def _download(address: str, folder: Path) -> InputFile:
    """Copy a file from the web; its suffix is that of the address, or says what it contains."""
    name = file_name(address)
    known = plain_suffix(Path(name)) in READABLE
    # A name from the web is not trusted: only its ending is used.
    ending = "".join(PurePosixPath(name).suffixes[-2:]) if known else ""
    target = folder / f"download{len(list(folder.iterdir()))}{ending}"
    download(address, target)
    return InputFile(target if known else _with_suffix(target), address)


def _with_suffix(copy: Path) -> Path:
    """Rename a file so that its suffix says what it contains, and return its new path."""
    with copy.open("rb") as file:
        start = file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    suffix = next((suffix for magic, suffix in _MAGIC if start.startswith(magic)), ".csv")
    if suffix == ".zip" and zipfile.is_zipfile(copy):
        with zipfile.ZipFile(copy) as archive:
            suffix = ".xlsx" if "xl/workbook.xml" in archive.namelist() else ".zip"
    target = copy.with_name(f"{copy.name}{suffix}")
    copy.rename(target)
    return target


def default_name(paths: Sequence[str | Path]) -> str:
    """Return the name of a dataset that is made from files: that of the first one, without its suffixes."""
    first = str(paths[0])
    if is_web_address(first):
        first = file_name(first)
    return "facts" if first == STANDARD_INPUT else Path(first).name.partition(".")[0] or "facts"
