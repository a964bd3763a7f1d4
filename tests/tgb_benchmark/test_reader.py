"""The reader of TGB edge lists, compared with py-tgb."""

from pathlib import Path

import numpy as np
import pytest

from tgb_benchmark.generated import write_tgb
from tgb_benchmark.oracle import oracle_dataset
from titer.data.load import load_dataset
from titer.data.tgb.reader import read_names, read_tgb, tgb_name, tgb_sizes
from titer.data.tgb.time import axis_of, steps_of
from titer.errors import DataError

ORACLES = pytest.mark.filterwarnings("ignore")


@ORACLES
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "numbered", "seed"),
    [("tkgl-smallpedia", False, 0), ("tkgl-wikidata", False, 1), ("tkgl-polecat", True, 2), ("tkgl-icews", True, 3)],
)
def test_ids_times_and_splits_are_those_of_py_tgb(tmp_path: Path, name: str, numbered: bool, seed: int):
    write_tgb(tmp_path, name, seed=seed, numbered=numbered)
    theirs = oracle_dataset(tmp_path, name)
    dataset = read_tgb(tmp_path)
    full, num_facts = theirs.full_data, len(dataset.facts)
    assert tgb_sizes(dataset).entities == theirs.num_nodes
    assert 2 * tgb_sizes(dataset).relations == theirs.num_rels
    masks = {"train": theirs.train_mask, "valid": theirs.val_mask, "test": theirs.test_mask}
    for split, mask in masks.items():
        # py-tgb has all inverse edges after the edges.
        rows = np.flatnonzero(mask[:num_facts])
        expected = {
            (int(full["sources"][i]), int(full["edge_type"][i]), int(full["destinations"][i]), int(t))
            for i, t in zip(rows, steps_of(full["timestamps"][rows], dataset.axis), strict=True)
        }
        assert set(dataset.splits[split]) == expected
        assert len(dataset.splits[split]) == len(rows)


@ORACLES
@pytest.mark.slow
def test_static_edges_get_the_ids_of_py_tgb_and_are_before_all_others(tmp_path: Path):
    write_tgb(tmp_path, "tkgl-smallpedia", static=60)
    theirs = oracle_dataset(tmp_path, "tkgl-smallpedia")
    static = theirs.static_data
    dataset, plain = read_tgb(tmp_path, static=True), read_tgb(tmp_path)
    facts = dataset.train[dataset.train.time == 0]
    assert facts.subject.tolist() == static["head"].astype(int).tolist()
    assert facts.object.tolist() == static["tail"].astype(int).tolist()
    # py-tgb numbers the inverses of the other relations in between.
    num_relations = plain.vocabulary.num_relations
    expected = [int(r) - num_relations * (r >= num_relations) for r in static["edge_type"]]
    assert facts.relation.tolist() == expected
    assert tgb_sizes(dataset) == tgb_sizes(plain)
    assert dataset.name == "tkgl-smallpedia+static"
    assert dataset.axis.label(1) == plain.axis.label(0) == "1900"
    assert int(dataset.valid.time.min()) == int(plain.valid.time.min()) + 1
    assert len(dataset.valid) == len(plain.valid)


def test_no_time_step_is_in_two_splits(tmp_path: Path):
    dataset = read_tgb(write_tgb(tmp_path))
    train, valid, test = (set(facts.time.tolist()) for facts in dataset.splits.values())
    assert max(train) < min(valid)
    assert max(valid) < min(test)


def test_midnights_with_summer_time_are_consecutive_days(tmp_path: Path):
    dataset = read_tgb(write_tgb(tmp_path, numbered=True))
    assert dataset.axis.unit == "day"
    assert sorted(set(dataset.facts.time.tolist())) == list(range(20))
    assert dataset.axis.label(0) == "2017-11-30"


@pytest.mark.parametrize("zone", [-11, -5, 0, 2, 11])
def test_a_day_is_the_one_that_was_meant_in_every_time_zone(zone: int):
    days = np.array([19000, 19001, 19005])
    times = days * 86_400 - zone * 3600
    axis = axis_of(times)
    assert axis.label(0) == str(np.datetime64(19000, "D"))
    assert steps_of(times, axis).tolist() == [0, 1, 5]


def test_times_that_are_no_dates_stay_numbers():
    assert axis_of(np.array([0, 5, 2024])).unit == "integer"
    assert axis_of(np.array([10**9, 10**9 + 1])).unit == "integer"


def test_names_come_from_dictionaries(tmp_path: Path):
    write_tgb(tmp_path)
    (tmp_path / "entities.csv").write_text('id,name\nQ100,"Smith, Anna"\nQ101,Twin\nQ102,Twin\n')
    (tmp_path / "relations.tsv").write_text("P30\tmember of\n")
    dataset = read_tgb(
        tmp_path,
        entity_names=read_names(tmp_path / "entities.csv"),
        relation_names=read_names(tmp_path / "relations.tsv"),
    )
    plain = read_tgb(tmp_path)
    names = dict(zip(plain.vocabulary.entities, dataset.vocabulary.entities, strict=True))
    assert names["Q100"] == "Smith, Anna"
    assert (names["Q101"], names["Q102"], names["Q103"]) == ("Twin (Q101)", "Twin (Q102)", "Q103")
    assert "member of" in dataset.vocabulary.relations
    assert dataset.facts == plain.facts


def test_a_folder_with_an_edge_list_is_a_dataset(tmp_path: Path):
    folder = write_tgb(tmp_path / "some folder", static=5)
    assert tgb_name(folder) == "tkgl-toy"
    assert load_dataset(folder).facts == read_tgb(folder).facts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ts,head,tail,relation_type\n", "no edges"),
        ("ts,head,tail\n1,2,3\n", "3 column"),
        ("ts,head,tail,relation_type\nyesterday,Q1,Q2,P1\n", "cannot be read: .*yesterday"),
        ("ts,head,tail,relation_type\n1900,Q1,Q2\n", "cannot be read"),
        ("ts,head,tail,relation_type\n,Q1,Q2,P1\n", "no time"),
        ("ts,head,tail,relation_type\n1900,1,2,99999999\n", "numbered from 0"),
    ],
)
def test_a_bad_edge_list_is_rejected_with_its_reason(tmp_path: Path, text: str, message: str):
    (tmp_path / "x_edgelist.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        read_tgb(tmp_path)


def test_a_folder_without_an_edge_list_is_named(tmp_path: Path):
    with pytest.raises(DataError, match=r"NAME_edgelist\.csv"):
        read_tgb(tmp_path)
