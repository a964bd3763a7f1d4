"""The Triton kernel for the latest edges against ``History.reference_latest``, in Triton's interpreter on the CPU.

Triton decides when it is imported whether to interpret kernels, so this file runs itself in a process of its own.
"""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from strategies import random_facts
from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.edges import Edges
from titer.graph.history import History

NUM_ENTITIES, NUM_RELATIONS, NUM_STEPS = 6, 3, 20
pytestmark = pytest.mark.slow

COLUMNS = ("relation", "object", "time", "mask")


def history(facts: Facts) -> History:
    return History(facts, Vocabulary.numbered(NUM_ENTITIES, NUM_RELATIONS))


def shifted(facts: Facts, time: int) -> Facts:
    return Facts(facts.subject, facts.relation, facts.object, facts.time + time)


RANDOM = random_facts(0, 60, NUM_ENTITIES - 1, NUM_RELATIONS, NUM_STEPS)  # the last entity has no facts
HISTORIES = {
    "random facts": history(RANDOM),
    "a later first fact": history(RANDOM[RANDOM.time >= 7]),
    "negative times": history(shifted(RANDOM, -9)),
    "large times": history(shifted(RANDOM, 1 << 40)),
    "one entity with all facts": history(Facts.from_rows([(3, 0, 3, time) for time in range(33)])),
    "one fact": history(Facts.from_rows([(0, 0, 1, 5)])),
    "no facts": history(Facts.empty()),
}
LIMITS = (1, 5, 40)


def batch(history: History) -> tuple[torch.Tensor, torch.Tensor]:
    """Every entity and the padding entity, at times before, within and after those of the facts."""
    last = history.last_time if history.last_time is not None else 0
    times = torch.tensor([history.first_time - 5, history.first_time, (history.first_time + last) // 2, last, last + 9])
    entities = torch.arange(NUM_ENTITIES + 1)
    return entities.repeat(len(times)), times.repeat_interleave(len(entities))


def differences(history: History, limit: int, inclusive: bool) -> list[str]:
    """The columns in which the kernel differs from the reference."""
    from titer.graph import history_triton

    found = []
    whole = torch.stack(batch(history))
    not_contiguous = whole.T.contiguous()[:3].T
    for entity, before in (whole, not_contiguous, whole[:, :0]):
        kernel = Edges(*history_triton.latest(history, entity, before, limit, inclusive))
        reference = history.reference_latest(entity, before, limit, inclusive=inclusive)
        found += [name for name in COLUMNS if not torch.equal(getattr(kernel, name), getattr(reference, name))]
    return found


@pytest.fixture(scope="module")
def compared() -> dict[str, list[str]]:
    if find_spec("triton") is None:
        pytest.skip("needs triton")
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    result = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", HISTORIES)
def test_the_kernel_returns_the_edges_of_the_reference(
    compared: dict[str, list[str]], name: str, limit: int, inclusive: bool
):
    assert compared[f"{name}, {limit}, {inclusive}"] == []


if __name__ == "__main__":
    print(
        json.dumps(
            {
                f"{name}, {limit}, {inclusive}": differences(history, limit, inclusive)
                for name, history in HISTORIES.items()
                for limit in LIMITS
                for inclusive in (False, True)
            }
        )
    )
