"""The files of questions of a batch: local files, folders, patterns, or files of an object store."""

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from operator import attrgetter
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import fs

from titer.data.readers.inputs import READABLE, InputFile, open_inputs
from titer.data.readers.options import TableOptions
from titer.data.readers.sources import plain_suffix
from titer.errors import DataError
from titer.files import sha256_of
from titer.forecasting.question_files import OWN, QUESTION_ROWS, QuestionFile, count_rows

_PARTITION = re.compile(r"([^/=]+)=([^/]*)/")


@dataclass(frozen=True)
class QuestionInputs:
    """Files of questions, all with the same columns.

    Attributes:
        files: The files, in the order of their names.
        own: The user's own columns of all files.
    """

    files: list[QuestionFile]
    paths: list[Path]
    own: pa.Schema

    @classmethod
    def open(
        cls, found: list[InputFile], mapping: TableOptions | None = None, options: TableOptions | None = None
    ) -> "QuestionInputs":
        """Open files of questions.

        Args:
            found: The files.
            mapping: How the dataset was imported.
            options: How these files are written.

        Raises:
            DataError: A file cannot be read, lacks a column, or has a column with another type than the other files.
        """
        files = [QuestionFile(file.path, mapping, file.name, _partition_columns(file.name), options) for file in found]
        try:
            own = pa.unify_schemas([file.own for file in files])
        except pa.ArrowException as error:
            raise DataError(f"the files of questions have different columns: {str(error).splitlines()[0]}") from error
        return cls(files, [file.path for file in found], own)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the tables."""
        file = [("file", pa.string())] if len(self.files) > 1 else []
        own = [(OWN, pa.struct(list(self.own)))] if len(self.own) else []
        return pa.schema([("question", pa.int64()), *file, *QUESTION_ROWS, *own])

    def tables(self) -> Iterator[pa.Table]:
        """Yield all questions in order, with their number; those of several files also with the name of the file."""
        number = 1
        for file in self.files:
            for table in file.tables():
                table = self._with_own(table)
                if len(self.files) > 1:
                    table = table.add_column(0, "file", pa.repeat(pa.scalar(file.name), table.num_rows))
                numbers = pa.array(range(number, number + table.num_rows), pa.int64())
                yield table.add_column(0, "question", numbers)
                number += table.num_rows

    def count(self) -> int:
        """Return approximately how many questions there are."""
        return sum(map(count_rows, self.paths))

    def _with_own(self, table: pa.Table) -> pa.Table:
        """Return a table with the own columns of all files; those that its file does not have are empty."""
        if not len(self.own):
            return table
        size, has = table.num_rows, dict[str, Any]()
        if OWN in table.column_names:
            column = table.column(OWN).combine_chunks()
            has = dict(zip((field.name for field in column.type), column.flatten(), strict=True))
            table = table.drop_columns([OWN])
        arrays = [has.get(field.name, pa.nulls(size, field.type)) for field in self.own]
        return table.append_column(OWN, pa.StructArray.from_arrays(arrays, fields=list(self.own)))


class QuestionLocation:
    """Where questions are: a file, a folder, a pattern such as ``questions/*.parquet``, or a URL such as ``s3://…``.

    Args:
        address: The location.
    """

    def __init__(self, address: str):
        self.address = address.removeprefix("file://")

    @property
    def is_remote(self) -> bool:
        """Whether the files are in an object store or another file system with URLs."""
        return "://" in self.address

    @contextmanager
    def located(self) -> Generator[list[InputFile]]:
        """Yield local files; remote ones are copied to a temporary folder first.

        Raises:
            DataError: There is no such file, or the file system cannot be used.
        """
        if not self.is_remote:
            with open_inputs([self.address], wanted="files of questions") as found:
                yield found
            return
        with TemporaryDirectory(prefix="titer-") as folder:
            system, files = self._remote()
            found: list[InputFile] = []
            for number, info in enumerate(files):
                copy = Path(folder) / f"{number}{''.join(PurePosixPath(info.path).suffixes[-2:])}"
                fs.copy_files(
                    info.path, str(copy), source_filesystem=system, destination_filesystem=fs.LocalFileSystem()
                )
                found.append(InputFile(copy, info.path))
            yield found

    def identity(self, found: list[InputFile] | None) -> list[dict[str, Any]]:
        """Return what identifies the files: name, size, and the checksum or the time of the last change.

        Args:
            found: The local files. None if the files are remote: these are not copied to be identified.

        Raises:
            DataError: There is no such file.
        """
        if found is not None:
            if absent := [file.name for file in found if not file.path.is_file()]:
                raise DataError(f"{absent[0]}: no such file")
            return [
                {"name": file.name, "bytes": file.path.stat().st_size, "sha256": sha256_of(file.path)} for file in found
            ]
        return [{"name": info.path, "bytes": info.size, "changed": info.mtime_ns} for info in self._remote()[1]]

    def _remote(self) -> tuple[fs.FileSystem, list[fs.FileInfo]]:
        """Return the file system, and the files that match, in the order of their names."""
        # After a question mark are options of the file system, such as the endpoint of an object store.
        address, mark, options = self.address.partition("?")
        fixed = re.split(r"[*\[]", address, maxsplit=1)[0]
        has_pattern = fixed != address
        start = fixed.rpartition("/")[0] if has_pattern else address
        try:
            system, root = fs.FileSystem.from_uri(f"{start}{mark}{options}")
            info = system.get_file_info(root)
            files = [info] if info.is_file else system.get_file_info(fs.FileSelector(root, recursive=True))
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.address} cannot be read: {str(error).splitlines()[0]}") from error
        pattern = f"{root.rstrip('/')}/{address[len(start) :].lstrip('/')}" if has_pattern else None
        chosen = [
            file
            for file in sorted(files, key=attrgetter("path"))
            if file.is_file
            and (fnmatch(file.path, pattern) if pattern else plain_suffix(Path(file.path)) in READABLE - {".zip"})
        ]
        if not chosen:
            raise DataError(f"no file of questions matches {self.address!r}")
        return system, chosen


def _partition_columns(name: str) -> dict[str, str]:
    """Return the columns in the folder names of a partitioned dataset, such as ``year=2014/part-0.parquet``."""
    return {unquote(key): unquote(value) for key, value in _PARTITION.findall(name)}
