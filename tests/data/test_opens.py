"""A file is opened only as often as it must be."""

import ctypes
import os
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from data.samples import FORMATS, write_benchmark, write_table
from titer.data.importing import import_dataset
from titer.data.readers.sources import open_source

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify exists only on Linux")

ACCESS, OPEN, CLOSE = 0x1, 0x20, 0x10
EVENT = struct.Struct("iIII")  # watch, mask, cookie, and the length of the name that follows
ROWS = [("Ada", "visit", "Ben", f"2018-10-{day:02d}") for day in range(1, 11)]

# Delimited text is read once to check the encoding and the quotation marks, and once by Arrow.
OPENS = dict.fromkeys(FORMATS, 1) | {"csv": 2, "tsv": 2, "csv.gz": 2}


@pytest.fixture
def count_opens() -> Iterator[Callable[[Path], Callable[[], int]]]:
    """Watch a file; return a function that counts how often it was opened, also by native code."""
    libc = ctypes.CDLL(None)
    descriptors: list[int] = []

    def watch(path: Path) -> Callable[[], int]:
        descriptor = libc.inotify_init1(os.O_NONBLOCK)
        descriptors.append(descriptor)
        # Equal events in a row are merged, so reads and closes are watched too: they separate two opens.
        assert libc.inotify_add_watch(descriptor, os.fsencode(path), ACCESS | OPEN | CLOSE) >= 0

        def count() -> int:
            data, num_opens = os.read(descriptor, 1 << 16), 0
            while data:
                _, mask, _, length = EVENT.unpack_from(data)
                num_opens += bool(mask & OPEN)
                data = data[EVENT.size + length :]
            return num_opens

        return count

    yield watch
    for descriptor in descriptors:
        os.close(descriptor)


@pytest.mark.parametrize("ending", FORMATS)
def test_an_import_opens_a_file_as_often_as_it_must(
    tmp_path: Path, count_opens: Callable[[Path], Callable[[], int]], ending: str
):
    path = write_table(tmp_path / f"facts.{ending}", ROWS)
    num_opens = count_opens(path)
    import_dataset(path)
    assert num_opens() == OPENS[ending]


def test_a_csv_with_an_odd_number_of_quotation_marks_is_opened_once_more(
    tmp_path: Path, count_opens: Callable[[Path], Callable[[], int]]
):
    path = write_table(tmp_path / "facts.csv", ROWS)
    path.write_text(path.read_text() + 'Ada,visit,5" pipe,2018-10-11\n')
    num_opens = count_opens(path)
    assert '5" pipe' in import_dataset(path).vocabulary.entities
    assert num_opens() == 3


def test_a_split_of_a_benchmark_is_opened_to_be_identified_checked_and_read(
    tmp_path: Path, count_opens: Callable[[Path], Callable[[], int]]
):
    folder = write_benchmark(tmp_path / "folder")
    num_opens = count_opens(folder / "train.txt")
    import_dataset(folder)
    assert num_opens() == 3


@pytest.mark.parametrize("ending", FORMATS)
def test_column_names_are_read_once(tmp_path: Path, count_opens: Callable[[Path], Callable[[], int]], ending: str):
    path = write_table(tmp_path / f"facts.{ending}", ROWS)
    num_opens = count_opens(path)
    source = open_source(path)
    assert source.columns() == source.columns() == ["subject", "relation", "object", "time"]
    assert num_opens() == 1
