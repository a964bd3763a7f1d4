"""The fused roll-out against plain operations: the same walks, log probabilities, entropies and gradients."""

from typing import Any

import pytest
import torch
from torch import Tensor

from models.titer.by_hand import make_model
from strategies import random_facts
from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.titer import policy as policy_module
from titer.models.titer import roll_out as roll_out_module
from titer.models.titer.model import TITer
from titer.models.titer.roll_out import MAX_FUSED_ACTIONS, Walks, is_fused, reference_roll_out
from triton_interpreter import KERNEL_DEVICE, needs_gpu, needs_kernels

NUM_ENTITIES, NUM_RELATIONS, NUM_STEPS = 6, 3, 14
VOCABULARY = Vocabulary.numbered(NUM_ENTITIES, NUM_RELATIONS)
FACTS = random_facts(3, 70, NUM_ENTITIES - 1, NUM_RELATIONS, NUM_STEPS)  # the last entity has no facts


def make(**settings: Any) -> TITer:
    torch.manual_seed(0)
    return make_model(VOCABULARY, **{"num_edges": 4, "path_length": 3, **settings}).to(KERNEL_DEVICE).train()


def make_queries(count: int = 6) -> Queries:
    """Return queries of several times, among them the first time and an entity without facts."""
    queries, _ = Queries.from_facts(FACTS, VOCABULARY)
    queries = queries[torch.linspace(0, len(queries) - 1, count).long()]
    queries.subject[:1] = NUM_ENTITIES - 1
    queries.time[1:2] = int(FACTS.time.min())
    return queries.to(KERNEL_DEVICE)


def reference(monkeypatch: pytest.MonkeyPatch, model: TITer, queries: Queries, history: History, draws: Any) -> Walks:
    """Return the walks of plain operations with given random numbers."""
    uniform = iter(draws.uniform)
    factors = iter(
        factor
        for hop in range(model.config.path_length)
        for factor in ([draws.inputs[hop - 1]] if hop and draws.inputs is not None else [])
        + ([draws.hidden[hop]] if draws.hidden is not None else [])
    )

    def gumbel_noise(like: Tensor) -> Tensor:
        drawn = next(uniform)[:, : like.shape[1]].clamp(1e-20, 1 - 1e-7)
        return -torch.log(-torch.log(drawn))

    def dropout(x: Tensor, rate: float, training: bool) -> Tensor:
        return x * next(factors) if draws.hidden is not None else x

    with monkeypatch.context() as patch:
        patch.setattr(roll_out_module, "gumbel_noise", gumbel_noise)
        patch.setattr(policy_module.functional, "dropout", dropout)
        return reference_roll_out(model.policy, queries, history)


def gradients(walks: Walks, model: TITer) -> dict[str, Tensor]:
    """Return the gradients of a random combination of what the walks return."""
    generator = torch.Generator().manual_seed(99)
    shape = walks.log_probability.shape
    of_log, of_entropy = (torch.randn(shape, generator=generator).to(KERNEL_DEVICE) for _ in range(2))
    loss = (of_log * walks.log_probability).sum() + (of_entropy * walks.entropy).sum()
    named = dict(model.policy.named_parameters())
    found = torch.autograd.grad(loss, list(named.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(named, found, strict=True))


def fused_walks(queries: Queries, facts: Facts = FACTS, **settings: Any) -> Walks:
    """Return the walks of the kernels."""
    from titer.models.titer.fused_roll_out import draw, fused_roll_out

    model = make(**settings)
    with torch.no_grad():
        history = History(facts, VOCABULARY).to(KERNEL_DEVICE)
        return fused_roll_out(model.policy, queries, history, draw(model.policy, queries))


def check_same(monkeypatch: pytest.MonkeyPatch, queries: Queries | None = None, **settings: Any) -> Walks:
    """Compare both versions for the same random numbers, and return the walks."""
    from titer.models.titer.fused_roll_out import draw, fused_roll_out

    model, queries = make(**settings), make_queries() if queries is None else queries
    history = History(FACTS, VOCABULARY).to(KERNEL_DEVICE)
    draws = draw(model.policy, queries)
    expected = reference(monkeypatch, model, queries, history, draws)
    found = fused_roll_out(model.policy, queries, history, draws)
    for ours, theirs in zip(found.end, expected.end, strict=True):
        assert torch.equal(ours, theirs)
    torch.testing.assert_close(found.log_probability, expected.log_probability, rtol=1e-4, atol=2e-5)
    torch.testing.assert_close(found.entropy, expected.entropy, rtol=1e-4, atol=2e-5)
    of_expected = gradients(expected, model)
    for name, gradient in gradients(found, model).items():
        torch.testing.assert_close(gradient, of_expected[name], rtol=1e-3, atol=1e-4, msg=lambda m, n=name: f"{n}: {m}")
    return found


@needs_kernels
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"weighted_scoring": False, "dropout": 0.4},
        {"strictly_back": False, "may_stay_at_first": True},
        {"loop_counts_as_edge": True, "path_length": 2},
        {"loop_counts_as_edge": True, "may_stay_at_first": True, "num_edges": 2, "path_length": 2},
        {"freeze_state_on_self_loop": True, "may_stay_at_first": True, "num_edges": 1},
        {"freeze_state_on_self_loop": True, "start_relation": "self_loop", "strictly_back": False, "dropout": 0.2},
        {"path_length": 1, "num_edges": 31},  # with the self-loop, as many actions as a block
        {"path_length": 2, "num_edges": 16},  # one more than a block
        {"path_length": 2, "entity_dim": 8, "relation_dim": 16, "time_dim": 4, "state_dim": 16, "hidden_dim": 8},
        {"path_length": 2, "entity_dim": 9, "relation_dim": 17, "time_dim": 1, "state_dim": 17, "hidden_dim": 9},
        {"path_length": 2, "time_activation": "sigmoid", "time_scale": 24.0},
    ],
    ids=lambda settings: "-".join(f"{name}={value}" for name, value in settings.items()) or "default",
)
def test_kernels_take_the_walks_of_plain_operations_with_their_gradients(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
):
    check_same(monkeypatch, **settings)


@needs_kernels
def test_kernels_take_no_query_and_one(monkeypatch: pytest.MonkeyPatch):
    assert check_same(monkeypatch, make_queries(0)).entropy.shape == (0, 3)
    assert check_same(monkeypatch, make_queries(1)).entropy.shape == (1, 3)


@needs_kernels
def test_kernels_stay_where_there_is_no_other_action():
    queries = make_queries()
    walks = fused_walks(queries)
    # The first query is about an entity without facts, the second about the time of the first fact.
    for walk in (0, 1):
        assert int(walks.end.relation[walk]) == VOCABULARY.self_loop
        assert int(walks.end.entity[walk]) == int(queries.subject[walk])
        assert walks.log_probability[walk].tolist() == [0.0, 0.0, 0.0]
        assert walks.entropy[walk].tolist() == [0.0, 0.0, 0.0]


@needs_kernels
def test_kernels_see_nothing_at_or_after_the_time_of_a_query():
    time = sorted(FACTS.time.tolist())[len(FACTS) // 2]
    queries = make_queries()
    queries.time[:] = time
    other = random_facts(4, 70, NUM_ENTITIES - 1, NUM_RELATIONS, NUM_STEPS)
    changed = Facts.concatenate(FACTS[FACTS.time < time], other[other.time >= time])
    assert int(changed.time.max()) == int(FACTS.time.max())  # the encodings of time have the same table
    for strictly_back in (True, False):
        walks = fused_walks(queries, strictly_back=strictly_back)
        same = fused_walks(queries, changed, strictly_back=strictly_back)
        for one, two in zip(walks.end, same.end, strict=True):
            assert torch.equal(one, two)
        assert torch.equal(walks.log_probability, same.log_probability)
        assert bool((walks.end.time <= time).all())


@needs_gpu
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, True),
        ({"num_edges": MAX_FUSED_ACTIONS - 1}, True),
        ({"num_edges": MAX_FUSED_ACTIONS}, False),
        ({"relative_time": False}, False),
    ],
)
def test_gpu_walks_are_fused_where_the_kernels_apply(settings: dict[str, Any], expected: bool):
    model = make(**settings)
    history = History(FACTS, VOCABULARY).to(KERNEL_DEVICE)
    assert is_fused(model.policy, history) == expected
    assert roll_out_module.roll_out(model.policy, make_queries(), history).entropy.shape == (6, 3)


def test_walks_on_the_cpu_use_plain_operations():
    assert not is_fused(make().to("cpu").policy, History(FACTS, VOCABULARY))
