"""Damaged Parquet and Feather files, and those with impossible columns."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from data.bad_input import read
from titer.errors import DataError


def table_of(count: int) -> pa.Table:
    parts = {part: [f"{part} {i % 7}" for i in range(count)] for part in ("subject", "relation", "object")}
    return pa.table({**parts, "time": list(range(count))})


def test_a_damaged_parquet_file_is_named(tmp_path: Path):
    path = tmp_path / "facts.parquet"
    pq.write_table(table_of(1000), path)
    damaged = bytearray(path.read_bytes())
    damaged[4:200] = bytes(196)
    path.write_bytes(damaged)
    with pytest.raises(DataError, match=r"facts\.parquet"):
        read(path)


def test_a_truncated_feather_file_is_named(tmp_path: Path):
    path = tmp_path / "facts.feather"
    feather.write_feather(table_of(1000), str(path))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DataError, match=r"facts.feather: not a readable Feather file"):
        read(path)


@pytest.mark.parametrize("name", ["facts.parquet", "facts.feather", "FACTS.PARQUET"])
def test_rows_of_arrow_files_are_numbered_from_one(tmp_path: Path, name: str):
    path = tmp_path / name
    table = pa.table({"subject": ["a", "b", None], "relation": ["r"] * 3, "object": ["b"] * 3, "time": [1, 2, 3]})
    if path.suffix.lower() == ".parquet":
        pq.write_table(table, path, row_group_size=2)
    else:
        feather.write_feather(table, str(path), chunksize=2)
    with pytest.raises(DataError, match="row 3, column 'subject': empty"):
        read(path)


@pytest.mark.parametrize("name", ["facts.parquet", "facts.feather"])
def test_impossible_columns_of_arrow_files_are_named(tmp_path: Path, name: str):
    path = tmp_path / name
    write = pq.write_table if name.endswith("parquet") else feather.write_feather
    write(table_of(2).set_column(3, "time", pa.array([[1], [2]])), str(path))
    with pytest.raises(DataError, match=f"{name}, column 'time': "):
        read(path)
    write(table_of(2).append_column("time", pa.array([1, 2])), str(path))
    with pytest.raises(DataError, match=f"{name}, row 1: column 'time' appears twice"):
        read(path)
