"""Progress bars: drawn on a terminal only, and transparent to the items."""

import io
import sys

import pytest

from titer.progress import duration, track


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def show_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Replace standard error; a fixture could not, since pytest replaces it again before the test begins."""
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


def test_without_a_terminal_nothing_is_drawn(capsys: pytest.CaptureFixture):
    assert list(track([3, 1, 2], "counting")) == [3, 1, 2]
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_the_description_and_the_number_of_items(monkeypatch: pytest.MonkeyPatch):
    terminal = show_terminal(monkeypatch)
    assert list(track([3, 1, 2], "counting")) == [3, 1, 2]
    assert "counting" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()


def test_the_total_of_an_iterator_can_be_given(monkeypatch: pytest.MonkeyPatch):
    terminal = show_terminal(monkeypatch)
    assert list(track(iter("ab"), "reading", total=7)) == ["a", "b"]
    assert "2/7" in terminal.getvalue()


def test_an_error_in_the_loop_is_not_swallowed(monkeypatch: pytest.MonkeyPatch):
    show_terminal(monkeypatch)

    def fail() -> None:
        for item in track([1, 0], "dividing"):
            _ = 1 // item

    with pytest.raises(ZeroDivisionError):
        fail()


def test_a_log_file_receives_a_line_now_and_then_with_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    # Each item takes 6 s: lines are due after 10 s, and 30 s later.
    clock = iter(range(0, 1000, 6))
    monkeypatch.setattr("titer.progress.time.monotonic", lambda: float(next(clock)))
    assert list(track(list(range(10)), "counting")) == list(range(10))
    assert capsys.readouterr().err.splitlines() == [
        "counting: 1 of 10, 2 min left",
        "counting: 6 of 10, 28 s left",
    ]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (89, "89 s"), (120, "2 min"), (3599, "1 h 0 min"), (7500, "2 h 5 min")]
)
def test_durations_are_readable(seconds: float, words: str):
    assert duration(seconds) == words
