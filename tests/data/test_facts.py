"""Facts, vocabularies and datasets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import Graph, graphs
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError

ROWS = [(0, 0, 1, 5), (2, 1, 0, 3), (0, 0, 1, 5), (1, 0, 2, 3)]


def small_dataset(
    name: str = "toy",
    vocabulary: Vocabulary | None = None,
    axis: TimeAxis | None = None,
    rows: list[tuple[int, int, int, int]] | None = None,
) -> Dataset:
    train = Facts.from_rows(ROWS[:2] if rows is None else rows)
    return Dataset(
        name,
        vocabulary or Vocabulary.numbered(3, 2),
        axis or TimeAxis(),
        train,
        Facts.from_rows(ROWS[2:3]),
        Facts.from_rows(ROWS[3:]),
    )


def test_facts_are_four_integer_columns_that_iterate_as_rows():
    facts = Facts.from_rows(ROWS)
    assert [column.dtype for column in facts.columns] == [np.int32, np.int32, np.int32, np.int64]
    assert list(facts) == ROWS
    assert len(facts) == 4
    assert len(Facts.empty()) == 0


def test_columns_of_unequal_length_are_rejected():
    one, two = np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64)
    with pytest.raises(ValueError, match="equally long"):
        Facts(one, one, one, two)


def test_facts_are_selected_by_slice_mask_and_positions():
    facts = Facts.from_rows(ROWS)
    assert list(facts[1:3]) == ROWS[1:3]
    assert list(facts[facts.time == 3]) == [ROWS[1], ROWS[3]]
    assert list(facts[np.array([3, 0])]) == [ROWS[3], ROWS[0]]


@given(graph=graphs())
def test_sorting_by_time_keeps_the_order_within_a_step(graph: Graph):
    assert list(graph.facts.sorted_by_time()) == sorted(graph.facts, key=lambda row: row[3])


@given(graph=graphs(), time=st.integers(-5, 12))
def test_before_is_strictly_before(graph: Graph, time: int):
    assert list(graph.facts.before(time)) == [row for row in graph.facts if row[3] < time]


@given(graph=graphs())
def test_first_occurrences_do_not_repeat_an_earlier_row(graph: Graph):
    rows = list(graph.facts)
    assert graph.facts.first_occurrences().tolist() == [row not in rows[:i] for i, row in enumerate(rows)]
    assert graph.facts.num_duplicates == len(rows) - len(set(rows))


@given(first=graphs(), second=graphs())
def test_concatenation_keeps_every_row_in_order(first: Graph, second: Graph):
    assert list(Facts.concatenate(first.facts, second.facts)) == [*first.facts, *second.facts]
    assert (first.facts == second.facts) == (list(first.facts) == list(second.facts))


@given(num_entities=st.integers(0, 20), num_relations=st.integers(1, 20))
def test_reserved_ids_are_distinct_and_within_the_tables(num_entities: int, num_relations: int):
    vocabulary = Vocabulary.numbered(num_entities, num_relations)
    relations = range(num_relations)
    inverses = [vocabulary.inverse(relation) for relation in relations]
    reserved = [vocabulary.self_loop, vocabulary.start, vocabulary.relation_padding]
    assert sorted([*relations, *inverses, *reserved]) == list(range(vocabulary.num_relation_ids))
    assert [vocabulary.inverse(relation) for relation in inverses] == list(relations)
    assert [vocabulary.is_inverse(r) for r in range(vocabulary.num_relation_ids)] == [
        r in inverses for r in range(vocabulary.num_relation_ids)
    ]
    assert vocabulary.entity_padding == num_entities


def test_the_id_of_a_name_is_its_position():
    vocabulary = Vocabulary(["Ada", "Ben"], ["visit"])
    assert vocabulary.entity_ids == {"Ada": 0, "Ben": 1}
    assert vocabulary.relation_ids == {"visit": 0}
    assert vocabulary == Vocabulary(iter(["Ada", "Ben"]), iter(["visit"]))
    assert vocabulary != Vocabulary(["Ben", "Ada"], ["visit"])


def test_a_dataset_has_three_splits_and_all_facts_in_their_order():
    dataset = small_dataset()
    assert {name: len(facts) for name, facts in dataset.splits.items()} == {"train": 2, "valid": 1, "test": 1}
    assert list(dataset.facts) == ROWS
    assert dataset.split("valid") == dataset.valid


def test_a_dataset_without_training_facts_is_rejected():
    with pytest.raises(DataError, match="no facts to train on"):
        small_dataset(rows=[])


def test_an_empty_or_unknown_split_is_rejected():
    dataset = Dataset("toy", Vocabulary.numbered(3, 2), TimeAxis(), Facts.from_rows(ROWS), *[Facts.empty()] * 2)
    with pytest.raises(DataError, match="the test split of 'toy' is empty"):
        dataset.split("test")
    with pytest.raises(DataError, match="unknown split 'dev'"):
        dataset.split("dev")


def test_the_checksum_depends_on_the_content_and_not_on_the_name():
    dataset = small_dataset()
    assert small_dataset(name="another").checksum == dataset.checksum
    changed = [
        small_dataset(vocabulary=Vocabulary(["a", "b", "c"], ["r", "s"])),
        small_dataset(vocabulary=Vocabulary.numbered(4, 2)),
        small_dataset(axis=TimeAxis(TimeUnit.YEAR, "1990")),
        small_dataset(axis=TimeAxis(stride=24)),
        small_dataset(rows=ROWS[1::-1]),
        small_dataset(rows=[*ROWS[:1], (2, 1, 0, 4)]),
        Dataset("toy", dataset.vocabulary, dataset.axis, dataset.train, dataset.test, dataset.valid),
        Dataset("toy", dataset.vocabulary, dataset.axis, dataset.train, dataset.valid, Facts.empty()),
        Dataset("toy", dataset.vocabulary, dataset.axis, dataset.train, Facts.empty(), dataset.valid),
    ]
    assert len({dataset.checksum, *(other.checksum for other in changed)}) == 1 + len(changed)
