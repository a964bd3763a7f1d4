"""Work divided among threads."""

import threading
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from titer.parallel.in_threads import in_threads


@pytest.mark.parametrize("num_threads", [1, 2, 3, 8])
def test_every_item_is_processed_once_and_each_thread_has_a_contiguous_part(num_threads: int):
    done = list[tuple[threading.Thread, int]]()
    yielded = list(in_threads(lambda item: done.append((threading.current_thread(), item)), range(7), num_threads))
    assert len(yielded) == 7
    assert sorted(item for _, item in done) == list(range(7))
    for thread in {thread for thread, _ in done}:
        items = [item for each, item in done if each == thread]
        assert items == list(range(items[0], items[0] + len(items)))


def test_threads_work_at_the_same_time():
    both = threading.Barrier(2, timeout=30)

    def work(item: int) -> None:
        both.wait()

    assert len(list(in_threads(work, range(4), 2))) == 4


def test_each_thread_enters_the_context_once():
    entered = list[int]()

    @contextmanager
    def context() -> Generator[None]:
        entered.append(threading.get_ident())
        yield

    assert len(list(in_threads(lambda _: None, range(6), 2, context))) == 6
    assert len(entered) == 2


@pytest.mark.parametrize("num_threads", [1, 2])
def test_an_error_is_raised_by_the_caller_and_ends_all_threads(num_threads: int):
    before = threading.active_count()

    def work(item: int) -> None:
        if item == 1:
            raise ValueError("item 1 is wrong")

    with pytest.raises(ValueError, match="item 1 is wrong"):
        list(in_threads(work, range(1000), num_threads))
    assert threading.active_count() == before
