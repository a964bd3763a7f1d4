"""The folder format of the benchmarks, tidy and untidy."""

from pathlib import Path

import pytest

from data.samples import BENCHMARK, content, write_benchmark
from titer.data.benchmarks import BENCHMARKS, Benchmark
from titer.data.load import load_dataset
from titer.data.readers.benchmark import read_benchmark
from titer.data.readers.rejections import Rejections
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.errors import DataError
from titer.files import sha256_of

EXPECTED = {
    "train": [(0, 0, 1, 0), (1, 1, 2, 1), (2, 0, 0, 2)],
    "valid": [(0, 0, 1, 3)],
    "test": [(1, 1, 0, 4)],
}

UNTIDY: dict[str, dict[str, str | bytes]] = {
    "padded numbers": {"train": "0   \t0 \t1   \t0\n 1\t 1\t 2\t24  \n2\t00\t0\t48\n"},
    "numbers from a spreadsheet": {"train": "0.0\t0\t1.\t0\n1\t1\t2\t24.0\n2\t0\t0\t48\n"},
    "a fifth column": {"train": "0\t0\t1\t0\t-1\n1\t1\t2\t24\t0\n2\t0\t0\t48\t\n"},
    "two more columns": {"train": "0\t0\t1\t0\t-1\tx\n1\t1\t2\t24\t0\ty\n2\t0\t0\t48\t0\tz\n"},
    "no final newline": {name: BENCHMARK[f"{name}.txt"].rstrip("\n") for name in ("train", "test", "entity2id")},
    "Windows line ends": {
        name: BENCHMARK[f"{name}.txt"].replace("\n", "\r\n") for name in ("train", "valid", "relation2id")
    },
    "blank lines": {
        "train": "\n0\t0\t1\t0\n\n1\t1\t2\t24\n2\t0\t0\t48\n\n\n",
        "entity2id": "Ada\t0\n\nBen\t1\nCleo\t2\n\n",
    },
    "unsorted dictionaries": {"entity2id": "Cleo\t2\nAda\t0\nBen\t1\n", "relation2id": "praise\t1\nvisit\t0\n"},
    "dates after the id": {"entity2id": "Ada\t0\t1815-##-##\t1852\nBen\t1\t####\t####\nCleo\t2\t\t\n"},
    "a byte order mark": {name: b"\xef\xbb\xbf" + BENCHMARK[f"{name}.txt"].encode() for name in ("train", "entity2id")},
    "no stat.txt": {},
}


@pytest.mark.parametrize("untidy", UNTIDY.values(), ids=UNTIDY)
def test_an_untidy_folder_reads_like_a_tidy_one(tmp_path: Path, untidy: dict[str, str | bytes]):
    tidy = read_benchmark(write_benchmark(tmp_path / "tidy"))
    dataset = read_benchmark(write_benchmark(tmp_path / "untidy", **untidy, stat=None))
    assert {name: list(facts) for name, facts in dataset.splits.items()} == EXPECTED
    assert dataset.vocabulary.entities == ["Ada", "Ben", "Cleo"]
    assert dataset.vocabulary.relations == ["visit", "praise"]
    assert dataset.axis == TimeAxis(TimeUnit.INTEGER, 0, 24)
    assert dataset.checksum == tidy.checksum


def test_unicode_line_separators_are_part_of_a_name(tmp_path: Path):
    folder = write_benchmark(tmp_path / "odd", entity2id="Ada\u2028Byron\t0\nBen\x85\x0cX\t1\nCleo\t2\n")
    assert read_benchmark(folder).vocabulary.entities == ["Ada\u2028Byron", "Ben\x85\x0cX", "Cleo"]


def test_the_default_name_is_that_of_the_folder(tmp_path: Path):
    folder = write_benchmark(tmp_path / "somewhere")
    assert read_benchmark(folder).name == "somewhere"
    assert read_benchmark(folder, name="chosen").name == "chosen"


def test_a_folder_is_loaded_by_its_path(tmp_path: Path):
    folder = write_benchmark(tmp_path / "somewhere")
    assert content(load_dataset(str(folder))) == content(read_benchmark(folder))


def test_a_known_benchmark_is_recognised_by_its_files_and_gets_its_dates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = write_benchmark(tmp_path / "any name")
    sums = {path.name: sha256_of(path) for path in folder.iterdir()}
    axis, raw = TimeAxis(TimeUnit.DAY, "2014-01-01"), TimeAxis(TimeUnit.INTEGER, 0, 24)
    monkeypatch.setitem(BENCHMARKS, "TOY", Benchmark("TOY", "", (3, 1, 1), axis, raw, sums))
    dataset = read_benchmark(folder)
    assert (dataset.name, dataset.axis.label(int(dataset.test.time[0]))) == ("TOY", "2014-01-05")
    changed = read_benchmark(write_benchmark(tmp_path / "changed", test="1\t1\t0\t120\n"))
    assert (changed.name, changed.axis.unit) == ("changed", TimeUnit.INTEGER)


BAD: dict[str, tuple[dict[str, str | bytes | None], str]] = {
    "a missing split": ({"valid": None}, ": no valid.txt (a missing split)"),
    "a missing dictionary": ({"entity2id": None}, ": no entity2id.txt"),
    "an empty split": ({"test": ""}, "/test.txt: the file is empty"),
    "an empty dictionary": ({"relation2id": "\n"}, "/relation2id.txt: the file is empty"),
    "too few columns throughout": ({"train": "0\t0\t1\n"}, "/train.txt, row 1: 3 columns instead of 4"),
    "too few columns": ({"train": "0\t0\t1\t0\n\n1\t1\t2\n"}, "/train.txt, row 3: 3 columns instead of 4"),
    "too many columns": (
        {"valid": "0\t0\t1\t0\n0\t0\t1\t0\n1\t1\t2\t3\t4\n"},
        "/valid.txt, row 3: 5 columns instead of 4",
    ),
    "an empty field": ({"train": "0\t0\t1\t0\n0\t\t1\t0\n"}, "/train.txt, row 2, column 'relation': empty"),
    "a field that is not a number": (
        {"train": "0\t0\t1\tsoon\n"},
        "/train.txt, row 1, column 'time': 'soon' is not an integer",
    ),
    "half a number": ({"train": "0\t0\t1.5\t0\n"}, "/train.txt, row 1, column 'object': '1.5' is not an integer"),
    "an unknown entity": (
        {"test": "0\t0\t1\t0\n0\t0\t3\t0\n"},
        "/test.txt, row 2, column 'object': unknown entity id 3; the dictionary has 0 to 2",
    ),
    "a negative entity": ({"test": "-1\t0\t1\t0\n"}, "/test.txt, row 1, column 'subject': unknown entity id -1"),
    "an unknown relation": ({"test": "0\t2\t1\t0\n"}, "/test.txt, row 1, column 'relation': unknown relation id 2"),
    "facts that are not UTF-8": (
        {"train": b"0\t0\t1\t0\n0\t0\t\xff\t0\n"},
        "/train.txt, row 2, column 'object': not UTF-8 text",
    ),
    "facts in UTF-16": (
        {"train": BENCHMARK["train.txt"].encode("utf-16")},
        "/train.txt, row 1, column 'subject': not UTF-8",
    ),
    "a dictionary that is not UTF-8": ({"entity2id": b"Ada\t0\nB\xe9n\t1\n"}, "/entity2id.txt, row 2: not UTF-8"),
    "a dictionary in UTF-16": (
        {"entity2id": BENCHMARK["entity2id.txt"].encode("utf-16")},
        "/entity2id.txt, row 1: not UTF-8",
    ),
    "a name without an id": (
        {"entity2id": "Ada\t0\nBen\n"},
        "/entity2id.txt, row 2: 1 column instead of a name and an id",
    ),
    "an id without a name": ({"entity2id": "Ada\t0\n\t1\n"}, "/entity2id.txt, row 2, column 'name': empty"),
    "an id that is not a number": (
        {"entity2id": "Ada\t0\n\nBen\tone\n"},
        "/entity2id.txt, row 3, column 'id': 'one' is not an integer",
    ),
    "a repeated id": (
        {"entity2id": "Ada\t0\nBen\t1\nCleo\t1\n"},
        "/entity2id.txt, row 3, column 'id': id 1 is already that of 'Ben'",
    ),
    "a repeated name": (
        {"relation2id": "visit\t0\nvisit\t1\n"},
        "/relation2id.txt, row 2, column 'name': 'visit' is already in row 1",
    ),
    "a gap in the ids": (
        {"entity2id": "Ada\t0\nBen\t1\nCleo\t3\n"},
        "/entity2id.txt: ids must be 0 to 2, but 2 has no name",
    ),
}


@pytest.mark.parametrize(("changed", "message"), BAD.values(), ids=BAD)
def test_bad_folders_are_reported_with_file_and_row(
    tmp_path: Path, changed: dict[str, str | bytes | None], message: str
):
    folder = write_benchmark(tmp_path / "bad", **changed)
    with pytest.raises(DataError) as caught:
        read_benchmark(folder)
    assert str(caught.value).startswith(f"{folder}{message}")


def test_bad_rows_of_a_folder_can_be_skipped(tmp_path: Path):
    train = "0\t0\t1\t0\n0\t0\n\n1\t1\t2\t24\n1\t1\t7\t24\n2\t0\t0\t48\n\n"
    rejections = Rejections(skip=True)
    dataset = read_benchmark(write_benchmark(tmp_path / "bad", train=train), rejections)
    assert list(dataset.train) == EXPECTED["train"]
    assert [(problem.row, problem.column) for problem in rejections.problems] == [(2, ""), (5, "object")]
    assert rejections.num_blank == 2


def test_a_folder_with_only_bad_rows_is_rejected(tmp_path: Path):
    folder = write_benchmark(tmp_path / "bad", train="9\t0\t1\t0\n", valid="9\t0\t1\t0\n", test="9\t0\t1\t0\n")
    with pytest.raises(DataError, match="no facts were read: every row was rejected"):
        read_benchmark(folder, Rejections(skip=True))
