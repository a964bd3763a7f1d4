"""Tables in terminals that are too narrow for them."""

import pytest

from titer.cli import screen


def test_a_table_that_is_too_wide_is_printed_in_parts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(screen, "terminal_width", lambda: 16)
    screen.say_table(["", "AP", "recall", "skill"], [["titer", "0.1", "0.2", "0.3"]])
    lines = ["        AP  recall", "-----  ---  ------", "titer  0.1     0.2"]
    assert capsys.readouterr().out.splitlines() == [
        *("        AP", "-----  ---", "titer  0.1", ""),
        *("       recall", "-----  ------", "titer     0.2", ""),
        *("       skill", "-----  -----", "titer    0.3"),
    ]
    monkeypatch.setattr(screen, "terminal_width", lambda: 18)
    screen.say_table(["", "AP", "recall"], [["titer", "0.1", "0.2"]])
    assert capsys.readouterr().out.splitlines() == lines


def test_output_to_a_file_or_pipe_has_no_width(monkeypatch: pytest.MonkeyPatch):
    assert screen.terminal_width() is None
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "93")
    assert screen.terminal_width() == 93
