"""Work that several threads of one process divide."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from queue import SimpleQueue
from threading import Event, Thread
from typing import TypeVar

Item = TypeVar("Item")


def in_threads(
    work: Callable[[Item], None],
    items: Sequence[Item],
    num_threads: int,
    context: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Iterator[None]:
    """Call a function for every item, and yield after each call.

    Args:
        work: The function. What it raises is raised here, and the threads stop.
        items: The items. Each thread has a contiguous part of them, in order.
        num_threads: The number of threads; with 1, the calling thread does the work.
        context: Entered by each thread around all of its calls, if there are several.
    """
    if min(num_threads, len(items)) <= 1:
        for item in items:
            work(item)
            yield
        return
    done, stop = SimpleQueue[BaseException | None](), Event()

    def run(part: Sequence[Item]) -> None:
        try:
            with context():
                for item in part:
                    if stop.is_set():
                        return
                    work(item)
                    done.put(None)
        except BaseException as error:  # noqa: BLE001 - raised again below
            done.put(error)

    bounds = [len(items) * number // num_threads for number in range(num_threads + 1)]
    parts = [items[start:end] for start, end in pairwise(bounds)]
    threads = [Thread(target=run, args=(part,), daemon=True) for part in parts]
    for thread in threads:
        thread.start()
    try:
        for _ in items:
            error = done.get()
            if error is not None:
                raise error
            yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
