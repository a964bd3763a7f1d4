"""Arrow files of someone else are validated before they are used."""

import struct
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import titer_process
from titer.data.importing import import_dataset
from titer.errors import DataError

ROWS = 40


def write_feather(path: Path) -> bytes:
    table = pa.table(
        {
            "subject": [f"subject{i}" for i in range(ROWS)],
            "relation": ["visit"] * ROWS,
            "object": [f"object{i}" for i in range(ROWS)],
            "time": [f"2020-01-{1 + i % 28:02}" for i in range(ROWS)],
        }
    )
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return path.read_bytes()


def offsets(content: bytes) -> int:
    """Return where the offsets of the subjects begin."""
    lengths = [len(f"subject{i}") for i in range(ROWS)]
    values = [sum(lengths[:i]) for i in range(ROWS + 1)]
    return content.index(struct.pack(f"<{ROWS + 1}i", *values))


@pytest.mark.parametrize(("place", "value"), [(1, 0x7FFFFF00), (ROWS, 430), (2, -5)])
def test_offsets_that_point_outside_of_the_file_are_an_error(tmp_path: Path, place: int, value: int):
    content = bytearray(write_feather(tmp_path / "facts.feather"))
    start = offsets(bytes(content)) + 4 * place
    content[start : start + 4] = struct.pack("<i", value)
    (tmp_path / "facts.feather").write_bytes(content)
    with pytest.raises(DataError, match=r"facts\.feather: "):
        import_dataset([tmp_path / "facts.feather"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_command_ends_with_one_line(tmp_path: Path):
    content = bytearray(write_feather(tmp_path / "facts.feather"))
    start = offsets(bytes(content)) + 4
    content[start : start + 4] = struct.pack("<i", 0x7FFFFF00)
    (tmp_path / "facts.feather").write_bytes(content)
    result = titer_process("data", "import", tmp_path / "facts.feather", "--out", tmp_path / "out")
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("error: ")


@pytest.mark.filterwarnings("ignore")
@given(st.data())
def test_any_damage_is_an_error_or_a_readable_file(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    folder = tmp_path_factory.mktemp("arrow")
    content = bytearray(write_feather(folder / "facts.feather"))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.one_of(st.just(len(content)), st.integers(0, len(content))))]
    (folder / "facts.feather").write_bytes(content)
    try:
        dataset = import_dataset([folder / "facts.feather"], folder / "out", skip_bad_rows=True)
    except DataError:
        return
    assert all(name.isprintable() or len(name) < 100 for name in dataset.vocabulary.entities)


def test_a_line_without_end_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("titer.data.readers.json_lines.MAX_LINE", 1000)
    (tmp_path / "facts.jsonl").write_text('{"subject": "' + "a" * 5000 + '"}\n')
    with pytest.raises(DataError, match="row 1: the line is longer than 1,000 bytes"):
        import_dataset([tmp_path / "facts.jsonl"], tmp_path / "out")


def test_utf_16_without_a_mark_is_an_error(tmp_path: Path):
    (tmp_path / "facts.csv").write_bytes("subject,relation,object,time\na,b,c,2020-01-01\n".encode("utf-16-le")[1:])
    with pytest.raises(DataError, match=r"facts\.csv"):
        import_dataset([tmp_path / "facts.csv"], tmp_path / "out", encoding="utf-16")


class TestIntervals:
    HEADER = "subject,relation,object,start,end\n"

    def test_an_end_far_in_the_future_counts_as_open(self, tmp_path: Path):
        rows = "Ada,lead,X,2020-01-01,9999-12-31\nBen,lead,Y,2020-01-01,2020-03-31\n"
        (tmp_path / "facts.csv").write_text(self.HEADER + rows)
        with pytest.warns(UserWarning, match="1 ends are more than 30 years after today, so they count as open"):
            dataset = import_dataset([tmp_path / "facts.csv"], tmp_path / "out")
        assert len(dataset.facts) == 2 * 91
        assert dataset.axis.label(int(dataset.facts.time.max())) == "2020-03-31"

    def test_a_row_of_too_many_steps_is_an_error(self, tmp_path: Path):
        (tmp_path / "facts.csv").write_text(self.HEADER + "Ada,lead,X,0001-01-01,2020-01-01\n" * 2)
        with pytest.raises(DataError, match="a row lasts 737,425 time steps, more than 100,000"):
            import_dataset([tmp_path / "facts.csv"], tmp_path / "out", unit="day")
