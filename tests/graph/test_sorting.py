import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from titer.graph.parallel import in_order
from titer.graph.sorting import changes, num_bits, sorted_rows

ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 20)), max_size=30)


def columns_of(rows: list[tuple[int, ...]], dtype: type = np.int64) -> list[np.ndarray]:
    return [np.array([row[i] for row in rows], dtype=dtype) for i in range(3)]


@given(ROWS, st.sampled_from([(6, 4, 21), (1 << 30, 1 << 20, 1 << 13), (1 << 30, 1 << 20, 1 << 14)]))
def test_rows_are_in_lexicographic_order_however_many_bits_they_need(rows: list[tuple[int, ...]], counts: tuple):
    found = sorted_rows(columns_of(rows, np.int32), counts)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == sorted(rows)
    assert all(column.dtype == np.int64 for column in found)


@given(ROWS, st.integers(0, 40))
def test_the_largest_values_of_a_column_are_sorted_too(rows: list[tuple[int, ...]], shift: int):
    rows = [(a << shift, b, c) for a, b, c in rows]
    found = sorted_rows(columns_of(rows), (6 << shift, 4, 21))
    assert list(zip(*(column.tolist() for column in found), strict=True)) == sorted(rows)


@given(ROWS)
def test_a_row_changes_where_any_column_does(rows: list[tuple[int, ...]]):
    found = changes(*columns_of(rows)).tolist()
    assert found == [i == 0 or row != rows[i - 1] for i, row in enumerate(rows)]


@given(st.integers(1, 1 << 62))
def test_the_bits_of_a_count_hold_its_largest_value(count: int):
    assert (count - 1) >> num_bits(count) == 0
    assert count == 1 or (count - 1) >> (num_bits(count) - 1) == 1


def test_results_of_threads_come_in_order_and_few_of_them_wait(monkeypatch):
    started: list[int] = []
    monkeypatch.setattr("torch.get_num_threads", lambda: 2)
    results = in_order([lambda i=i: (started.append(i), i)[1] for i in range(50)])
    for i, result in enumerate(results):
        assert result == i
        assert len(started) <= i + 4
