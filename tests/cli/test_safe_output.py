"""Names with control characters and formulas are shown, not run."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from titer.cli.screen import say, say_json, visible
from titer.errors import TiterError
from titer.files.cells import safe_column, spreadsheet_safe
from titer.runs.place import training_place


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\x1b[31mRED\x07", r"a\x1b[31mRED\x07"),
        ("abc\u202edef", r"abc\u202edef"),
        ("zero\u200bwidth", r"zero\u200bwidth"),
        ("\x00", r"\x00"),
        ("\x9b31m", r"\x9b31m"),
        ("Émile – 東京\tline\n", "Émile – 東京\tline\n"),
    ],
)
def test_control_characters_are_escaped_on_the_screen(name: str, shown: str, capsys: pytest.CaptureFixture[str]):
    say(name)
    assert capsys.readouterr().out == f"{shown}\n"


@given(st.text())
def test_what_is_printed_never_controls_a_terminal(text: str):
    assert all(character in "\n\t" or ord(character) >= 32 for character in visible(text))
    assert not set(visible(text)) & {"\x7f", "\x9b", "\u202e", "\u2066"}


def test_json_on_the_screen_is_escaped_and_still_the_same(capsys: pytest.CaptureFixture[str]):
    say_json({"name": "a\x1b[31m\u202e\x9b"})
    printed = capsys.readouterr().out
    assert visible(printed) == printed
    assert json.loads(printed) == {"name": "a\x1b[31m\u202e\x9b"}


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-2+3", "@sum", "\tx", "=cmd|' /C calc'!A0"])
def test_formulas_get_an_apostrophe(cell: str):
    assert spreadsheet_safe(cell) == f"'{cell}"
    assert safe_column(pa.array(["plain", cell, None])).to_pylist() == ["plain", f"'{cell}", None]


@pytest.mark.parametrize("cell", ["plain", "-1.5", "+3", "-2e-5", "", 7, None, "a=b"])
def test_other_cells_stay_as_they_are(cell: object):
    assert spreadsheet_safe(cell) == cell


def test_two_trainings_in_one_place_are_refused(tmp_path: Path):
    with training_place(tmp_path / "run", overwrite=False, resume=False):
        second = training_place(tmp_path / "run", overwrite=True, resume=False)
        with pytest.raises(TiterError, match="is being written by process"):
            second.__enter__()
