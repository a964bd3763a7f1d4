"""The real benchmarks have the published sizes, and WIKI follows from its interval data."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from commands import titer
from data.samples import named
from titer.data.benchmarks import BENCHMARKS
from titer.data.dataset_folder import open_dataset
from titer.data.load import load_dataset
from titer.data.readers.rejections import Rejections
from titer.data.readers.tables import TableOptions, read_tables
from titer.data.time_axis import TimeAxis, TimeUnit

pytestmark = pytest.mark.real_data

SIZES = {
    "ICEWS14": (63685, 13823, 13222, 7128, 230, 365),
    "ICEWS18": (373018, 45995, 49545, 23033, 256, 304),
    "WIKI": (539286, 67538, 63110, 12554, 24, 232),
    "YAGO": (161540, 19523, 20026, 10623, 10, 189),
    "ICEWS14-RE-GCN": (74845, 8514, 7371, 7128, 230, 365),
}
UNSEEN = {
    "ICEWS14": (496, 438, 497, 73, 6.52),
    "ICEWS18": (1140, 975, 1050, 77, 3.93),
    "WIKI": (2968, 11086, 22967, 6974, 42.91),
    "YAGO": (540, 1102, 873, 366, 8.03),
    "ICEWS14-RE-GCN": (258, 217, 225, 26, 5.64),
}
DUPLICATES = {"WIKI": (5381, 1045, 1226)}
DATES = {
    "ICEWS14": ("2014-01-01", "2014-12-31", "day"),
    "ICEWS18": ("2018-01-01", "2018-10-31", "day"),
    "WIKI": ("1786", "2017", "year"),
    "YAGO": ("1830", "2018", "year"),
    "ICEWS14-RE-GCN": ("2014-01-01", "2014-12-31", "day"),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_benchmark_has_the_published_sizes(datasets_folder: Path, name: str):
    found = json.loads(titer("data", "info", datasets_folder / name, "--json"))
    sizes = ("train", "valid", "test", "entities", "relations", "timestamps")
    assert found["name"] == name
    assert tuple(found[key] for key in sizes) == SIZES[name]
    unseen = found["unseen"]
    assert tuple(unseen[k] for k in ("entities", "object_facts", "subject_facts", "both_facts")) == UNSEEN[name][:4]
    assert round(100 * unseen["share"], 2) == UNSEEN[name][4]
    assert tuple(found["duplicates"].values()) == DUPLICATES.get(name, (0, 0, 0))
    assert (found["first"], found["last"], found["time"]["unit"]) == DATES[name]
    assert found["time"]["origin"] == found["first"]
    assert set(found["shared_steps"].values()) == {0}
    assert BENCHMARKS[name].facts == SIZES[name][:3]


@pytest.mark.parametrize("name", ["ICEWS14", "YAGO", "ICEWS14-RE-GCN"])
def test_a_benchmark_can_be_fetched_from_the_folder_and_loaded_by_name(
    datasets_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.setenv("TITER_CACHE", str(tmp_path))
    assert titer("data", "download", name, "--from", datasets_folder) == f"{name} is in {tmp_path / name}\n"
    assert sorted(path.name for path in (tmp_path / name).iterdir()) == sorted(BENCHMARKS[name].sha256)
    dataset = load_dataset(name.lower())
    assert dataset.name == name
    assert tuple(len(facts) for facts in dataset.splits.values()) == SIZES[name][:3]


def test_the_two_splits_of_icews14_have_the_same_facts_on_the_same_days(datasets_folder: Path):
    datasets = [load_dataset(datasets_folder / name) for name in ("ICEWS14", "ICEWS14-RE-GCN")]
    # One writes spaces as underscores, or leaves them out.
    facts = [
        Counter(
            tuple(re.sub(r"[\s_]", "", word) for word in fact) for fact in named(one.facts, one.vocabulary, one.axis)
        )
        for one in datasets
    ]
    assert facts[0] == facts[1]


def test_a_benchmark_is_the_same_after_it_was_imported(datasets_folder: Path, tmp_path: Path):
    titer("data", "import", datasets_folder / "ICEWS14", "--out", tmp_path / "stored")
    stored, read = open_dataset(tmp_path / "stored"), load_dataset(datasets_folder / "ICEWS14")
    assert (stored.name, stored.checksum) == ("ICEWS14", read.checksum)
    assert stored.facts == read.facts


def test_names_of_entities_come_from_the_dictionary(datasets_folder: Path):
    dataset = load_dataset(datasets_folder / "ICEWS18")
    assert dataset.vocabulary.entities[:2] == ["Kim Jong-Un", "North Korea"]
    first = named(dataset.train[:1], dataset.vocabulary, dataset.axis)
    assert first == [("Kim Jong-Un", "Make statement", "North Korea", "2018-01-01")]


def test_the_interval_data_of_wiki_gives_its_facts_and_two_more(datasets_folder: Path):
    folder = datasets_folder / "WIKIDATA12K-intervals"
    rejections = Rejections(skip=True)
    options = TableOptions(names=["subject", "relation", "object", "start", "end"], earliest="1786", latest="2017")
    table = read_tables([folder / f"{split}.txt" for split in ("train", "valid", "test")], options, rejections)
    assert len(rejections) == 10
    assert {problem.reason for problem in rejections.problems} == {"the end is before the start"}
    assert table.axis == TimeAxis(TimeUnit.YEAR, "1786")
    entities = [int(name) for name in table.vocabulary.entities]
    relations = [int(name) for name in table.vocabulary.relations]
    expanded = Counter((entities[s], relations[r], entities[o], t) for s, r, o, t in table.facts)
    wiki = Counter(load_dataset(datasets_folder / "WIKI").facts)
    assert wiki - expanded == Counter()
    assert (expanded - wiki).total() == 2
