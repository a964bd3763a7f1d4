"""Computing pieces in threads."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch

Result = TypeVar("Result")


def in_order(calls: Sequence[Callable[[], Result]]) -> Iterator[Result]:
    """Yield the results of calls in order, computed in as many threads as PyTorch uses.

    The calls should spend their time in numpy, which lets other threads run. At most as many results as threads wait
    to be taken, so that memory does not depend on the number of calls.

    Args:
        calls: The functions to call.
    """
    threads = min(torch.get_num_threads(), len(calls))
    if threads <= 1:
        yield from (call() for call in calls)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for call in calls:
            waiting.append(pool.submit(call))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
