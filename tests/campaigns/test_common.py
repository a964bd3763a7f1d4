"""Campaigns report problems with the command that repeats them."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from campaigns.common import Campaign
from campaigns.hostile_requests import random_request
from campaigns.mutated_files import mutated_file
from campaigns.run_all import PARTS, problems_of, row, share
from campaigns.soak import grown


@pytest.fixture(autouse=True)
def kept_handler() -> Iterator[None]:
    """Restore what a campaign sets for its own process."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def campaign(*words: str) -> Campaign:
    return Campaign("tests/campaigns/example.py", "Try examples.", "examples", count=5, words=list(words))


def test_a_problem_is_recorded_with_the_command_that_repeats_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "result.json"
    example = campaign("--seed", "7", "--out", str(out))
    for number in example.numbers():
        if number == 9:
            example.problem(number, "wrong answer", "--fast")
    with pytest.raises(SystemExit) as end:
        example.end(answers=4)
    repeat = "python tests/campaigns/example.py --fast --seed 9 --count 1"
    assert end.value.code == 1
    assert repeat in capsys.readouterr().out
    result = json.loads(out.read_text())
    assert result["problems"] == [{"command": repeat, "problem": "wrong answer"}]
    assert (result["trials"], result["figures"]) == (5, {"answers": 4})
    assert result["command"] == "python tests/campaigns/example.py --seed 7"
    assert row("example", 1, out)[:3] == ("example", "5 examples", "1")
    assert problems_of(out) == [f"wrong answer\n  repeat: {repeat}"]


def test_without_problems_the_exit_code_is_0():
    with pytest.raises(SystemExit) as end:
        campaign().end()
    assert end.value.code == 0


def test_a_campaign_without_time_tries_one_example():
    assert list(campaign("--seconds", "0").numbers()) == [0]


def test_a_campaign_that_wrote_no_result_counts_as_a_problem(tmp_path: Path):
    assert row("example", -9, tmp_path / "none.json")[2] == "ended with -9"
    assert problems_of(tmp_path / "none.json") == []


def test_the_time_is_divided_over_all_campaigns():
    left = 1000.0
    for name in PARTS:
        left -= share(name, left)
    assert 0 <= left < 100


def test_a_number_gives_the_same_trial_again():
    assert [random_request(n).encoded() for n in range(50)] == [random_request(n).encoded() for n in range(50)]
    assert [mutated_file(n) for n in range(50)] == [mutated_file(n) for n in range(50)]


def test_growing_memory_and_files_are_found():
    flat = [(float(i), 400.0, 16) for i in range(100)]
    assert grown(flat) == []
    assert len(grown([(i, memory + i, files + int(i)) for i, memory, files in flat])) == 2
