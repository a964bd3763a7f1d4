"""Backtests on rolling origins."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import titer
from strategies import random_facts
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import TiterError
from titer.runs import backtest as module
from titer.runs.backtest import rolling_origins

FACTS = random_facts(1, 300, 10, 3, 60)
DATA = Dataset("random", Vocabulary.numbered(10, 3), TimeAxis(), FACTS[:100], FACTS[100:150], FACTS[150:])


@given(every=st.integers(1, 20), count=st.integers(1, 8), valid=st.none() | st.integers(1, 20))
def test_windows_follow_each_other_and_nothing_later_is_known(every: int, count: int, valid: int | None):
    last = int(DATA.facts.time.max())
    origins = rolling_origins(DATA, every, count, valid)
    assert 1 <= len(origins) <= count
    for origin in origins:
        train, known, test = origin.dataset.splits.values()
        assert train.time.max() < origin.start - (valid or every) <= known.time.min()
        assert known.time.max() < origin.start <= test.time.min()
        assert test.time.max() < origin.start + every
        assert sorted(Facts.concatenate(train, known)) == sorted(DATA.facts.before(origin.start))
    tested = sorted(fact for origin in origins for fact in origin.dataset.test)
    assert tested == sorted(fact for fact in DATA.facts if fact[3] >= origins[0].start)
    assert origins[-1].start == last + 1 - every


def test_a_window_without_earlier_facts_is_an_error():
    with pytest.raises(TiterError, match="no window of 60 time steps"):
        rolling_origins(DATA, 60, 3)
    with pytest.raises(TiterError, match="at least one time step"):
        rolling_origins(DATA, 0, 3)


def test_the_command_reports_every_window_and_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    words = ["backtest", "small-world", "--every", "2w", "--origins", "2", "--model", "recurrency", "--out", tmp_path]
    calls = []
    test = module._test
    monkeypatch.setattr(module, "_test", lambda *given: calls.append(1) or test(*given))
    rows = json.loads(titer(*words, "--json"))
    assert [row["origin"] for row in rows] == ["2023-06-03", "2023-06-17"]
    assert json.loads((tmp_path / "backtest.json").read_text())["origins"] == rows
    again = titer(*words)
    assert len(calls) == 2
    assert f"{100 * rows[1]['metrics']['mrr']:.2f}" in again
    assert "mean MRR" in again
    with pytest.raises(TiterError, match=r"other settings: model\.prior is 0\.001, not 0\.5"):
        titer(*words, "--set", "model.prior=0.5")


def test_windows_of_other_models_have_the_baseline_beside_them(tmp_path: Path):
    words = ["--every", "14d", "--origins", "1", "--model", "random_walk", "--set", "model.num_walks=5"]
    (row,) = json.loads(titer("backtest", "small-world", *words, "--out", tmp_path, "--json"))
    assert row["baseline"]["metrics"]["mrr"] > row["metrics"]["mrr"]
    assert row["baseline"]["metrics"]["queries"] == row["metrics"]["queries"] == 2 * row["test"]


def test_a_wrong_duration_names_the_units(tmp_path: Path):
    with pytest.raises(TiterError, match="'3h': unknown unit 'h'; known units are days, weeks, months, years"):
        titer("backtest", "small-world", "--every", "3h", "--out", tmp_path)
