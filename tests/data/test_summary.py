"""Statistics of a dataset, and the command that shows them."""

import json
from pathlib import Path

import pytest
from hypothesis import given

from commands import titer
from data.samples import write_benchmark
from strategies import Graph, graphs
from titer.data.dataset import Dataset
from titer.data.dataset_folder import save_dataset
from titer.data.facts import Facts
from titer.data.summary import Summary
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary

TRAIN = [(0, 0, 1, 0), (0, 0, 1, 0), (0, 0, 1, 0), (1, 1, 2, 1)]
VALID = [(3, 0, 0, 2), (3, 0, 0, 2)]
# Only 0, 1 and 2 are seen in training: 3 and 4 are unseen, once as subject, once as object, once as both.
TEST = [(0, 0, 1, 4), (3, 0, 0, 4), (1, 1, 4, 5), (4, 1, 3, 5)]


@pytest.fixture
def dataset() -> Dataset:
    vocabulary = Vocabulary(["Ada", "Ben", "Cleo", "Dora", "Emil", "Fay"], ["visit", "praise"])
    axis = TimeAxis(TimeUnit.DAY, "2018-10-01")
    return Dataset("toy", vocabulary, axis, *(Facts.from_rows(rows) for rows in (TRAIN, VALID, TEST)))


@pytest.fixture
def stored(dataset: Dataset, tmp_path: Path) -> Path:
    save_dataset(dataset, tmp_path / "toy")
    return tmp_path / "toy"


def info(path: str | Path, *options: str) -> str:
    return titer("data", "info", path, *options)


def test_info_as_json_has_the_counts(stored: Path, dataset: Dataset):
    assert json.loads(info(stored, "--json")) == {
        "name": "toy",
        "checksum": dataset.checksum,
        "train": 4,
        "valid": 2,
        "test": 4,
        "entities": 6,
        "relations": 2,
        "timestamps": 5,
        "first": "2018-10-01",
        "last": "2018-10-06",
        "time": {"unit": "day", "origin": "2018-10-01", "stride": 1},
        "duplicates": {"train": 2, "valid": 1, "test": 0},
        "shared_steps": {"train+valid": 0, "valid+test": 0, "train+test": 0},
        "unseen": {"entities": 2, "object_facts": 2, "subject_facts": 2, "both_facts": 1, "share": 0.75},
    }


def test_info_shows_sizes_dates_and_the_busiest(stored: Path):
    lines = info(stored).splitlines()
    assert lines[0] == "toy: 2018-10-01 to 2018-10-06, time unit: day"
    assert lines[1] == "6 entities, 2 relations, 5 time steps with facts"
    assert ["train", "4", "2", "2018-10-01", "2018-10-02"] in [line.split() for line in lines]
    assert "unseen in training: 2 entities of the test split, in 75.00% of its facts" in lines
    busiest = lines.index(next(line for line in lines if line.startswith("most frequent entities")))
    assert lines[busiest + 2].split() == ["Ada", "7"]
    assert not any(line.startswith("note:") for line in lines)


def test_info_notes_splits_with_common_time_steps(tmp_path: Path):
    folder = write_benchmark(tmp_path / "shared", valid="0\t0\t1\t48\n0\t0\t1\t72\n", test="1\t1\t0\t72\n1\t1\t0\t96\n")
    notes = [line for line in info(folder).splitlines() if line.startswith("note:")]
    assert [note.partition(";")[0] for note in notes] == [
        "note: train and valid share 1 time step",
        "note: valid and test share 1 time step",
    ]


def test_entities_are_counted_as_subjects_and_objects(dataset: Dataset):
    summary = Summary.of(dataset)
    assert summary.busiest_entities(3) == [("Ada", 7), ("Ben", 6), ("Dora", 4)]
    assert summary.busiest_relations(9) == [("visit", 7), ("praise", 3)]
    assert "Fay" not in dict(summary.busiest_entities(9))


def test_empty_splits_are_shown(dataset: Dataset, tmp_path: Path):
    only_train = Dataset("toy", dataset.vocabulary, dataset.axis, dataset.train, Facts.empty(), Facts.empty())
    save_dataset(only_train, tmp_path / "only train")
    assert json.loads(info(tmp_path / "only train", "--json"))["unseen"]["share"] == 0
    assert ["valid", "0", "0", "-", "-"] in [line.split() for line in info(tmp_path / "only train").splitlines()]


@given(train=graphs(), test=graphs())
def test_statistics_agree_with_plain_loops(train: Graph, test: Graph):
    learned = Facts.concatenate(train.facts, Facts.from_rows([(0, 0, 0, 0)]))
    vocabulary = Vocabulary.numbered(6, 3)
    summary = Summary.of(Dataset("toy", vocabulary, TimeAxis(), learned, Facts.empty(), test.facts))
    seen = {entity for s, _, o, _ in learned for entity in (s, o)}
    unseen = [(s not in seen, o not in seen) for s, _, o, _ in test.facts]
    assert summary.unseen.entities == len({e for s, _, o, _ in test.facts for e in (s, o)} - seen)
    assert summary.unseen.subject_facts == sum(s for s, _ in unseen)
    assert summary.unseen.object_facts == sum(o for _, o in unseen)
    assert summary.unseen.both_facts == sum(s and o for s, o in unseen)
    assert summary.unseen.share == pytest.approx(sum(s or o for s, o in unseen) / max(len(unseen), 1))
    assert summary.shared_steps["train+test"] == len({*learned.time.tolist()} & {*test.facts.time.tolist()})
    assert dict(zip(summary.steps.tolist(), summary.facts_per_step.tolist(), strict=True)) == {
        time: [*learned.time.tolist(), *test.facts.time.tolist()].count(time)
        for time in {*learned.time.tolist(), *test.facts.time.tolist()}
    }
