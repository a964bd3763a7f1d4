"""The folder that a batch job writes: on a disk, or in an object store."""

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from titer.errors import TiterError, one_line
from titer.files import atomic_path, remove_leftovers


class JobFolder:
    """A folder whose files appear completely or not at all.

    A file on a disk gets its name when it is complete and on the disk. A file of an object store is written under
    another name and then moved.

    Args:
        address: A path, or a URL such as ``s3://bucket/answers``.

    Raises:
        TiterError: The file system cannot be used.
    """

    def __init__(self, address: str):
        self.address = address.removeprefix("file://").rstrip("/")
        self.path = None if "://" in self.address else Path(self.address).absolute()
        if self.path is not None:
            self._system, self._root = fs.LocalFileSystem(), str(self.path)
            return
        try:
            self._system, self._root = fs.FileSystem.from_uri(self.address)
        except (pa.ArrowException, OSError) as error:
            raise TiterError(f"{self.address} cannot be used: {str(error).splitlines()[0]}") from error

    def __str__(self) -> str:
        return self.address

    def names(self, under: str = "") -> set[str]:
        """Return the names of the files and folders in the folder, or in one of its folders."""
        selector = fs.FileSelector(self._full(under), allow_not_found=True)
        return {info.base_name for info in self._system.get_file_info(selector)}

    @contextmanager
    def writing(self, name: str) -> Generator[Path]:
        """Yield a temporary path; the file becomes ``name`` when the block ends without an error."""
        if self.path is not None:
            with atomic_path(self.path / name) as temporary:
                yield temporary
            return
        with TemporaryDirectory(prefix="titer-") as folder:
            local = Path(folder) / "file"
            yield local
            unfinished = self._full(f"_unfinished/{uuid4().hex}")
            self._system.create_dir(unfinished.rpartition("/")[0], recursive=True)
            self._system.create_dir(self._full(name).rpartition("/")[0], recursive=True)
            # Not fs.copy_files, which ignores errors of the last part of an upload.
            with local.open("rb") as source, self._system.open_output_stream(unfinished) as target:
                shutil.copyfileobj(source, target)
            self._system.move(unfinished, self._full(name))

    def read_table(self, name: str) -> pa.Table:
        """Read a Parquet file.

        Raises:
            TiterError: The file cannot be read, or is damaged.
        """
        try:
            with self._system.open_input_file(self._full(name)) as file:
                return pq.read_table(file)
        except (pa.ArrowException, OSError) as error:
            raise TiterError(
                f"{self}/{name} cannot be read: {one_line(error)}; begin again with --overwrite"
            ) from error

    def read_text(self, name: str) -> str:
        """Read a text file."""
        with self._system.open_input_file(self._full(name)) as file:
            return file.read().decode("utf-8")

    def write_text(self, name: str, text: str) -> None:
        """Write a text file."""
        with self.writing(name) as path:
            path.write_text(text, encoding="utf-8")

    def remove(self, *names: str) -> None:
        """Remove files and folders, if they exist."""
        for name in names:
            info = self._system.get_file_info(self._full(name))
            if info.is_file:
                self._system.delete_file(info.path)
            elif info.type is fs.FileType.Directory:
                self._system.delete_dir(info.path)

    def remove_unfinished(self) -> None:
        """Remove temporary files of writers that were killed."""
        if self.path is not None:
            remove_leftovers(self.path)
        self.remove("_unfinished")

    def _full(self, name: str) -> str:
        return f"{self._root}/{name}".rstrip("/")
