"""JSON lists are read item by item."""

import io
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from titer.data.importing import import_dataset
from titer.data.readers.json_array import array_items
from titer.data.readers.json_lines import JsonLines
from titer.data.readers.rejections import Rejections

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(values, max_size=6), st.integers(1, 9), st.sampled_from([None, 1]), st.booleans())
def test_items_are_those_of_the_whole_text_for_any_division_into_pieces(
    items: list, chunk: int, indent: int | None, ascii_only: bool
):
    text = json.dumps(items, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    try:
        text.decode()
    except UnicodeDecodeError:
        return  # a lone surrogate is not UTF-8
    assert list(array_items(io.BytesIO(text), chunk)) == items


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2", "ends in the middle"),
        ('[{"a": 1}', "ends in the middle"),
        ('[{"a": ', "Expecting value"),
        ("[1 2]", "expected , or ]"),
        ("[1, ,2]", "Expecting value"),
        ("[1] 2", "follows the end"),
        ("[1,]", "Expecting value"),
        ('["a', "Unterminated string"),
        ("{}", "does not begin with"),
        ("[\xff]", "Expecting value"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_what_is_not_a_list_is_an_error(text: str, message: str, chunk: int):
    with pytest.raises(ValueError, match=message):
        list(array_items(io.BytesIO(text.encode()), chunk))


def test_an_error_does_not_read_the_rest_of_a_file():
    class Counted(io.BytesIO):
        num_read = 0

        def read(self, size: int | None = -1, /) -> bytes:
            self.num_read += size or 0
            return super().read(size)

    text = Counted(b'[{"a": 1}, {"b" 2}, ' + b'{"c": 3}, ' * 1_000_000)
    with pytest.raises(ValueError, match="Expecting ':'"):
        list(array_items(text, 1 << 12))
    assert text.num_read < 1 << 16


@pytest.mark.slow
def test_a_large_list_takes_little_memory(tmp_path: Path):
    path = tmp_path / "large.json"
    with path.open("w") as file:
        file.write("[")
        for i in range(60_000):
            file.write(json.dumps({"subject": f"s{i % 50}", "text": "x" * 300, "time": i % 90}) + ",")
        file.write('{"subject": "end"}]')
    size = path.stat().st_size
    tracemalloc.start()
    with path.open("rb") as file:
        assert sum(1 for _ in array_items(file)) == 60_001
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size / 2 < 12_000_000


def test_rows_of_a_list_are_numbered_and_bad_ones_rejected(tmp_path: Path):
    path = tmp_path / "facts.json"
    path.write_text('\ufeff[{"subject": "a", "time": 1},\n 7, {"subject": "b", "time": 2}]', encoding="utf-8")
    rejections = Rejections(skip=True)
    (batch,) = JsonLines(path).batches(["subject"], rejections)
    assert batch.rows.tolist() == [1, 3]
    assert [(problem.row, problem.reason) for problem in rejections.held] == [(2, "not a JSON object")]


def test_a_list_of_facts_is_imported(tmp_path: Path):
    rows = [{"subject": "a", "relation": "r", "object": f"b{i % 3}", "time": f"2020-01-{i:02d}"} for i in range(1, 29)]
    (tmp_path / "facts.json").write_text(json.dumps(rows))
    assert len(import_dataset(tmp_path / "facts.json").facts) == 28
