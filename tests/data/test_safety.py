"""Files that must not be overwritten, and values that must not be misread."""

import json
from pathlib import Path

import pytest

from data.samples import write_benchmark
from titer.data import benchmarks
from titer.data.benchmarks import FILES, Benchmark
from titer.data.importing import import_dataset
from titer.data.load import load_dataset
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.errors import DataError
from titer.files import sha256_of

BAD = "subject,relation,object,time\nAda,visit,Ben,2018-10-01\nAda,visit,Ben,soon\n"


@pytest.mark.parametrize("name", ["facts.csv", "precious.csv", "out"])
def test_rejected_rows_never_overwrite_another_file(tmp_path: Path, name: str):
    facts, precious = tmp_path / "facts.csv", tmp_path / "precious.csv"
    facts.write_text(BAD)
    precious.write_text("mine")
    with pytest.raises(DataError, match="rejected rows"):
        import_dataset([facts], tmp_path / "out", skip_bad_rows=True, rejected_file=tmp_path / name)
    assert facts.read_text() == BAD
    assert precious.read_text() == "mine"
    assert not (tmp_path / "out").exists()


def test_options_for_tables_are_rejected_for_a_benchmark_folder(tmp_path: Path):
    folder = write_benchmark(tmp_path / "folder")
    with pytest.raises(DataError, match="do not apply"):
        import_dataset(folder, tmp_path / "out", unit="day")
    with pytest.raises(DataError, match="do not apply"):
        import_dataset(folder, tmp_path / "out", split=(0.5, 0.25, 0.25))


def test_a_damaged_download_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = write_benchmark(tmp_path / "cache" / "TINY")
    sums = {name: sha256_of(folder / name) for name in FILES}
    raw = TimeAxis(TimeUnit.INTEGER, 0, 24)
    tiny = Benchmark("TINY", "http://127.0.0.1/", (3, 1, 1), TimeAxis(TimeUnit.DAY, "2014-01-01"), raw, sums)
    monkeypatch.setitem(benchmarks.BENCHMARKS, "TINY", tiny)
    monkeypatch.setenv("TITER_CACHE", str(tmp_path / "cache"))
    assert load_dataset("tiny").axis.label(1) == "2014-01-02"
    (folder / "train.txt").write_text("0\t0\t1\t0\n")
    with pytest.raises(DataError, match="damaged; run: titer data download TINY"):
        load_dataset("tiny")


@pytest.mark.parametrize("value", [["Ada"], {"id": 3}, True, float("nan")])
def test_json_values_that_are_not_names_are_rejected(tmp_path: Path, value: object):
    good: dict[str, object] = {"subject": "Ada", "relation": "visit", "object": "Ben", "time": "2018-10-01"}
    rows = [good, {**good, "object": value}]
    (tmp_path / "facts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match="row 2, column 'object': neither text nor a number"):
        import_dataset([tmp_path / "facts.jsonl"], tmp_path / "out")


def test_impossible_times_are_rejected():
    with pytest.raises(DataError, match="not a valid date"):
        TimeAxis(TimeUnit.DAY, "2018-01-01").step("0000-01-01")
    with pytest.raises(DataError, match="64-bit integer"):
        TimeAxis().step("99999999999999999999")


def test_a_date_beyond_the_calendar_still_has_a_label():
    axis = TimeAxis(TimeUnit.DAY, "2018-01-01")
    assert axis.words(4_000_000) == axis.label(4_000_000)
