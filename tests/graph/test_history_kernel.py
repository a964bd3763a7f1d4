"""The Triton kernel for the latest edges against ``History.reference_latest``."""

import pytest
import torch

from strategies import random_facts
from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.edges import Edges
from titer.graph.history import History
from triton_interpreter import KERNEL_DEVICE, needs_kernels

NUM_ENTITIES, NUM_RELATIONS, NUM_STEPS = 6, 3, 20


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


@needs_kernels
@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", HISTORIES)
def test_kernel_returns_the_edges_of_the_reference(name: str, limit: int, inclusive: bool):
    from titer.graph import history_triton

    history = HISTORIES[name].to(KERNEL_DEVICE)
    whole = torch.stack(batch(history)).to(KERNEL_DEVICE)
    not_contiguous = whole.T.contiguous()[:3].T
    for entity, before in (whole, not_contiguous, whole[:, :0]):
        found = Edges(*history_triton.latest(history, entity, before, limit, inclusive))
        reference = history.reference_latest(entity, before, limit, inclusive=inclusive)
        for column in ("relation", "object", "time", "mask"):
            assert torch.equal(getattr(found, column), getattr(reference, column)), column
