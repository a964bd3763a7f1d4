"""The numbers of bad rows, whatever comes before them and however a file is cut into blocks."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.bad_input import GOOD, HEADER, read
from data.samples import POINT
from titer.data.readers import delimited, json_lines
from titer.data.readers.rejections import Rejections
from titer.errors import DataError

LINES = {
    "good": "Ada,visit,Ben,{i}",
    "quoted": '"A, da","vi""sit",Ben,{i}',
    "two lines": '"A\nda",visit,Ben,{i}',
    "blank": "",
    "empty": ",,,",
    "short": "Ada,visit",
    "long": "Ada,visit,Ben,{i},more",
    "no number": "Ada,visit,Ben,soon",
    "no name": "Ada,,Ben,{i}",
    "not UTF-8": "Ad\udce9,visit,Ben,{i}",
    "short and not UTF-8": "Ad\udce9,visit",
}
PLACES = {
    "short": "",
    "long": "",
    "no number": "time",
    "no name": "relation",
    "not UTF-8": "subject",
    "short and not UTF-8": "",
    "two lines": "subject",
}


@pytest.fixture(scope="module")
def small_blocks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "BLOCK_BYTES", 48)
        patch.setattr(json_lines, "BATCH_ROWS", 3)
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("small_blocks")
@settings(max_examples=150)
@given(kinds=st.lists(st.sampled_from(list(LINES)), max_size=30), header=st.booleans(), final_newline=st.booleans())
def test_bad_rows_are_reported_with_their_row_number(kinds: list[str], header: bool, final_newline: bool):
    kinds = ["good", *kinds]
    lines = [HEADER.strip()] * header + [LINES[kind].format(i=i) for i, kind in enumerate(kinds)]
    text = "\n".join(lines) + "\n" * (final_newline or not lines[-1])
    first = 2 if header else 1
    bad = [(i + first, PLACES[kind]) for i, kind in enumerate(kinds) if kind in PLACES]
    names = None if header else list(POINT)
    rejections = Rejections(skip=True)
    with TemporaryDirectory() as folder:
        path = Path(folder, "facts.csv")
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        table = read(path, names=names, rejections=rejections)
        if bad:
            with pytest.raises(DataError) as caught:
                read(path, names=names)
            column = f", column {bad[0][1]!r}" if bad[0][1] else ""
            assert str(caught.value).startswith(f"{path}, row {bad[0][0]}{column}: ")
    assert sorted((problem.row, problem.column) for problem in rejections.problems) == bad
    assert rejections.num_blank == sum(kind in ("blank", "empty") for kind in kinds)
    numbers = [i for i, kind in enumerate(kinds) if kind in ("good", "quoted")]
    assert [int(table.axis.label(t)) for t in table.facts.time.tolist()] == numbers


JSON_LINES = {
    "good": '{{"subject": "a", "relation": "r", "object": "b", "time": {i}}}',
    "blank": "  ",
    "broken": '{{"subject": "a',
    "not an object": "[]",
    "no name": '{{"subject": "a", "relation": null, "object": "b", "time": {i}}}',
    "no number": '{{"subject": "a", "relation": "r", "object": "b", "time": "soon"}}',
}
JSON_PLACES = {"broken": "", "not an object": "", "no name": "relation", "no number": "time"}


@pytest.mark.usefixtures("small_blocks")
@given(kinds=st.lists(st.sampled_from(list(JSON_LINES)), max_size=12))
def test_bad_lines_of_json_are_reported_with_their_row_number(kinds: list[str]):
    kinds = ["good", *kinds]
    bad = [(i + 1, JSON_PLACES[kind]) for i, kind in enumerate(kinds) if kind in JSON_PLACES]
    rejections = Rejections(skip=True)
    with TemporaryDirectory() as folder:
        path = Path(folder, "facts.jsonl")
        path.write_text("".join(JSON_LINES[kind].format(i=i) + "\n" for i, kind in enumerate(kinds)))
        table = read(path, rejections=rejections)
        if bad:
            with pytest.raises(DataError, match=rf"facts.jsonl, row {bad[0][0]}\b"):
                read(path)
    assert sorted((problem.row, problem.column) for problem in rejections.problems) == bad
    assert rejections.num_blank == kinds.count("blank")
    assert len(table.facts) == kinds.count("good")


def test_a_quoted_newline_does_not_make_a_row(tmp_path: Path):
    header = HEADER.strip() + ",note\n"
    (tmp_path / "facts.csv").write_text(header + 'Ada,visit,Ben,1,"two\nlines"\nAda,visit,Ben,soon,\n')
    with pytest.raises(DataError, match="row 3, column 'time'"):
        read(tmp_path / "facts.csv")


def test_rows_between_two_stray_quotation_marks_are_not_read_as_one_name(tmp_path: Path):
    rows = 'Ada,visit,"Ben,2018-10-01\nAda,visit,Cleo,2018-10-02\nAda,visit,"Dan,2018-10-03\n'
    (tmp_path / "facts.csv").write_text(HEADER + GOOD + rows)
    with pytest.raises(DataError, match="row 5, column 'object': a line break in a name"):
        read(tmp_path / "facts.csv")
