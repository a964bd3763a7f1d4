"""The decision of the agent, and its Triton kernels against their reference versions.

The tests of kernels run on a GPU where there is one, and always with Triton's interpreter on the CPU.
"""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from titer.models.titer import decide as decide_module
from titer.models.titer.decide import (
    MAX_FUSED_ACTIONS,
    Candidates,
    Decision,
    Scoring,
    decide,
    gumbel_noise,
    reference_decide,
    score_actions,
)
from titer.models.titer.sampled import reference_sampled_dots
from triton_interpreter import KERNEL_DEVICE, needs_gpu, needs_interpreter, needs_kernels, run_interpreted

Decide = Callable[..., Decision]

NUM_ROWS, NUM_RELATIONS, NUM_LAGS = 23, 7, 11


def random_case(
    walks: int, actions: int, dims: tuple[int, int, int] = (6, 4, 5), seed: int = 0, device: str = KERNEL_DEVICE
) -> tuple[Candidates, Scoring, Tensor]:
    """Return random candidates of which each walk has at least one, everything that scores them, and noise."""
    generator = torch.Generator().manual_seed(seed)
    entity_dim, time_dim, relation_dim = dims

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator).to(device)

    def integers(high: int) -> Tensor:
        return torch.randint(high, (walks, actions), generator=generator).to(device)

    mask = torch.rand(walks, actions, generator=generator) < 0.7
    if walks:
        mask[torch.arange(walks), torch.randint(actions, (walks,), generator=generator)] = True
    candidates = Candidates(integers(NUM_ROWS), integers(NUM_RELATIONS), integers(NUM_LAGS), mask.to(device))
    scoring = Scoring(
        e_tilde=normal(walks, entity_dim + time_dim),
        r_tilde=normal(walks, relation_dim),
        gate=normal(walks),
        entity=normal(NUM_ROWS, entity_dim),
        relation=normal(NUM_RELATIONS, relation_dim),
        encoding=normal(NUM_LAGS, time_dim),
        w_entity=normal(entity_dim),
        w_relation=normal(relation_dim),
        w_time=normal(time_dim),
    )
    noise = gumbel_noise(torch.rand(walks, actions, generator=generator)).to(device)
    return candidates, scoring, noise


def fused_decide(candidates: Candidates, scoring: Scoring, noise: Tensor, *, weighted: bool) -> Decision:
    """Decide with the kernel, whatever the device."""
    from titer.models.titer import decide_triton

    return Decision(*decide_triton.decide(weighted, *candidates, noise, *scoring))


def with_gradients(
    implementation: Decide, candidates: Candidates, scoring: Scoring, noise: Tensor, weighted: bool
) -> tuple[Decision, dict[str, Tensor]]:
    """Return the decision, and the gradient of everything that enters it for a random combination of its results."""
    inputs = Scoring(*(part.detach().clone().requires_grad_() for part in scoring))
    decision = implementation(candidates, inputs, noise, weighted=weighted)
    generator = torch.Generator().manual_seed(99)
    of_log, of_entropy = (torch.randn(len(noise), generator=generator).to(noise.device) for _ in range(2))
    loss = (of_log * decision.log_probability).sum() + (of_entropy * decision.entropy).sum()
    gradients = torch.autograd.grad(loss, inputs, allow_unused=True, materialize_grads=True)
    return decision, dict(zip(Scoring._fields, gradients, strict=True))


def check_same(candidates: Candidates, scoring: Scoring, noise: Tensor, *, weighted: bool) -> Decision:
    """Compare the kernel with the reference, values and gradients, and return the decision."""
    ours, of_ours = with_gradients(fused_decide, candidates, scoring, noise, weighted)
    reference, of_reference = with_gradients(reference_decide, candidates, scoring, noise, weighted)
    assert torch.equal(ours.choice, reference.choice)
    torch.testing.assert_close(ours.log_probability, reference.log_probability, rtol=1e-5, atol=5e-6)
    torch.testing.assert_close(ours.entropy, reference.entropy, rtol=1e-5, atol=5e-6)
    for name, gradient in of_reference.items():
        torch.testing.assert_close(of_ours[name], gradient, rtol=1e-4, atol=2e-5, msg=lambda m, n=name: f"{n}: {m}")
    return ours


WEIGHTED = pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "unweighted"])


@needs_kernels
@WEIGHTED
@pytest.mark.parametrize(
    ("walks", "actions", "dims"),
    [
        (1, 1, (1, 1, 1)),
        (3, 2, (6, 4, 5)),
        (33, 3, (2, 1, 3)),
        (7, 11, (6, 4, 5)),
        (5, 16, (8, 4, 16)),  # as large as the blocks
        (5, 17, (9, 5, 17)),  # one larger than the blocks
        (5, 51, (80, 20, 100)),  # the sizes of the paper
        (2, MAX_FUSED_ACTIONS, (3, 2, 7)),
        (0, 5, (6, 4, 5)),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, tuple) else str(value),
)
def test_kernel_gives_the_values_and_gradients_of_the_reference(
    walks: int, actions: int, dims: tuple[int, int, int], weighted: bool
):
    check_same(*random_case(walks, actions, dims, seed=walks + actions), weighted=weighted)


@needs_kernels
@WEIGHTED
@pytest.mark.parametrize("only", [0, 8, 12], ids=["first", "middle", "last"])
def test_kernel_gives_a_single_action_the_probability_one(only: int, weighted: bool):
    candidates, scoring, noise = random_case(4, 13)
    mask = torch.zeros_like(candidates.mask)
    mask[:, only] = True
    _, gradients = with_gradients(fused_decide, candidates._replace(mask=mask), scoring, noise, weighted)
    decision = check_same(candidates._replace(mask=mask), scoring, noise, weighted=weighted)
    assert decision.choice.tolist() == [only] * 4
    assert decision.log_probability.tolist() == [0.0] * 4
    assert decision.entropy.tolist() == [0.0] * 4
    assert all(float(gradient.abs().max()) < 1e-5 for gradient in gradients.values())


@needs_kernels
@WEIGHTED
@pytest.mark.parametrize("masked", [0, 12], ids=["first", "last"])
def test_kernel_never_takes_a_masked_action_at_the_edge(masked: int, weighted: bool):
    candidates, scoring, noise = random_case(6, 13)
    mask = torch.ones_like(candidates.mask)
    mask[:, masked] = False
    noise[:, masked] = 1e6  # which would win if the action existed
    decision = check_same(candidates._replace(mask=mask), scoring, noise, weighted=weighted)
    assert masked not in decision.choice.tolist()


@needs_kernels
@WEIGHTED
def test_kernel_ignores_the_content_of_masked_actions(weighted: bool):
    candidates, scoring, noise = random_case(6, 13)
    other, _, _ = random_case(6, 13, seed=1)
    parts = (torch.where(candidates.mask, a, b) for a, b in zip(candidates[:3], other[:3], strict=True))
    changed = Candidates._make([*parts, candidates.mask])
    one, of_one = with_gradients(fused_decide, candidates, scoring, noise, weighted)
    two, of_two = with_gradients(fused_decide, changed, scoring, noise, weighted)
    assert torch.equal(one.choice, two.choice)
    torch.testing.assert_close(one.log_probability, two.log_probability, rtol=0, atol=1e-6)
    torch.testing.assert_close(one.entropy, two.entropy, rtol=0, atol=1e-6)
    for name, gradient in of_one.items():
        torch.testing.assert_close(of_two[name], gradient, rtol=1e-5, atol=1e-6)


@needs_kernels
@WEIGHTED
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # of the interpreter, for -inf - -inf
def test_kernel_leaves_a_walk_without_actions_out(weighted: bool):
    candidates, scoring, noise = random_case(5, 13)
    candidates.mask[[0, 3]] = False
    decision = check_same(candidates, scoring, noise, weighted=weighted)
    for row in (0, 3):
        assert [part[row].item() for part in decision] == [0, 0.0, 0.0]
    _, gradients = with_gradients(fused_decide, candidates, scoring, noise, weighted)
    for name in ("e_tilde", "r_tilde", "gate"):
        assert not bool(gradients[name][[0, 3]].any())
    kept = torch.tensor([1, 2, 4], device=noise.device)
    alone = fused_decide(
        Candidates._make(part[kept] for part in candidates),
        Scoring._make([*(part[kept] for part in scoring[:3]), *scoring[3:]]),
        noise[kept],
        weighted=weighted,
    )
    for ours, expected in zip(decision, alone, strict=True):
        assert torch.equal(ours[kept], expected)


@needs_kernels
@WEIGHTED
def test_kernel_takes_the_first_of_tied_actions(weighted: bool):
    candidates, scoring, noise = random_case(4, 13)
    same = Candidates._make([*(part[:, :1].expand(-1, 13).contiguous() for part in candidates[:3]), candidates.mask])
    decision = check_same(same, scoring, torch.zeros_like(noise), weighted=weighted)
    first = candidates.mask.int().argmax(dim=1)
    assert torch.equal(decision.choice, first)
    torch.testing.assert_close(decision.entropy, candidates.mask.sum(dim=1).float().log())


@needs_kernels
def test_kernel_chooses_by_score_plus_noise():
    candidates, scoring, noise = random_case(9, 13)
    candidates = candidates._replace(mask=torch.ones_like(candidates.mask))
    phi = score_actions(candidates, scoring, weighted=True).phi
    greedy = check_same(candidates, scoring, torch.zeros_like(noise), weighted=True)
    assert torch.equal(greedy.choice, phi.argmax(dim=1))
    wanted = torch.arange(9, device=noise.device)
    forced = check_same(candidates, scoring, noise + 1e4 * torch.nn.functional.one_hot(wanted, 13), weighted=True)
    assert torch.equal(forced.choice, wanted)


@needs_kernels
def test_kernel_is_stable_for_large_scores():
    candidates, scoring, noise = random_case(9, 13)
    scoring = scoring._replace(e_tilde=scoring.e_tilde * 100, r_tilde=scoring.r_tilde * 100)
    ours = fused_decide(candidates, scoring, noise, weighted=True)
    reference = reference_decide(candidates, scoring, noise, weighted=True)
    assert torch.equal(ours.choice, reference.choice)
    torch.testing.assert_close(ours.log_probability, reference.log_probability, rtol=1e-5, atol=1e-3)
    torch.testing.assert_close(ours.entropy, reference.entropy, rtol=1e-4, atol=1e-3)


@needs_kernels
def test_kernel_takes_tensors_of_any_layout():
    candidates, scoring, noise = random_case(6, 13)
    transposed = Candidates(*(part.T.contiguous().T for part in candidates))
    sliced = Scoring(*(torch.stack([part, part], dim=-1)[..., 0] for part in scoring))
    ours, of_ours = with_gradients(fused_decide, transposed, sliced, noise.T.contiguous().T, True)
    reference, of_reference = with_gradients(reference_decide, candidates, scoring, noise, True)
    assert torch.equal(ours.choice, reference.choice)
    torch.testing.assert_close(ours.log_probability, reference.log_probability, rtol=1e-5, atol=5e-6)
    for name, gradient in of_reference.items():
        torch.testing.assert_close(of_ours[name], gradient, rtol=1e-4, atol=2e-5)


@needs_kernels
@pytest.mark.parametrize(
    ("walks", "candidates", "dim"), [(1, 1, 1), (3, 31, 8), (4, 32, 5), (5, 33, 16), (7, 70, 17), (0, 4, 3), (3, 0, 4)]
)
def test_sampled_dots_kernel_gives_the_products_and_gradients_of_the_reference(walks: int, candidates: int, dim: int):
    from titer.models.titer import sampled_triton

    generator = torch.Generator().manual_seed(walks + candidates)
    x = torch.randn(walks, dim, generator=generator).to(KERNEL_DEVICE).requires_grad_()
    table = torch.randn(NUM_ROWS, dim, generator=generator).to(KERNEL_DEVICE).requires_grad_()
    rows = torch.randint(NUM_ROWS, (walks, candidates), generator=generator).to(KERNEL_DEVICE)
    gradient = torch.randn(walks, candidates, generator=generator).to(KERNEL_DEVICE)
    if gradient.numel():
        gradient[:, 0] = 0  # as of a masked candidate
    reference = reference_sampled_dots(x, table, rows)
    ours = sampled_triton.forward(x.detach(), table.detach(), rows)
    torch.testing.assert_close(ours, reference.detach(), rtol=1e-5, atol=1e-5)
    expected = torch.autograd.grad(reference, (x, table), gradient)
    found = sampled_triton.backward(x.detach(), table.detach(), rows, gradient)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


@needs_interpreter
@pytest.mark.slow
def test_the_interpreter_runs_the_tests_of_kernels():
    run_interpreted(Path(__file__), "test_kernel or test_sampled_dots_kernel")


@needs_gpu
@pytest.mark.parametrize(
    ("actions", "time_dim", "is_fused"),
    [(13, 4, True), (MAX_FUSED_ACTIONS, 4, True), (MAX_FUSED_ACTIONS + 1, 4, False), (13, 0, False)],
)
def test_gpu_decisions_use_the_kernel_where_it_applies(
    monkeypatch: pytest.MonkeyPatch, actions: int, time_dim: int, is_fused: bool
):
    candidates, scoring, noise = random_case(6, actions, (6, time_dim, 5))
    expected = reference_decide(candidates, scoring, noise, weighted=True)
    calls: list[bool] = []

    def reference(*args: object, **options: object) -> Decision:
        calls.append(True)
        return expected

    monkeypatch.setattr(decide_module, "reference_decide", reference)
    found = decide(candidates, scoring, noise, weighted=True)
    assert bool(calls) != is_fused
    assert torch.equal(found.choice, expected.choice)
    torch.testing.assert_close(found.log_probability, expected.log_probability, rtol=1e-5, atol=5e-6)


def test_decisions_on_the_cpu_use_the_reference():
    candidates, scoring, noise = random_case(6, 13, device="cpu")
    found = decide(candidates, scoring, noise, weighted=True)
    for ours, expected in zip(found, reference_decide(candidates, scoring, noise, weighted=True), strict=True):
        assert torch.equal(ours, expected)


@WEIGHTED
def test_scores_follow_the_formula(weighted: bool):
    candidates, scoring, _ = random_case(3, 5, device="cpu")
    found = score_actions(candidates, scoring, weighted=weighted)
    size = scoring.entity.shape[1]
    for walk in range(3):
        for n in range(5):
            e, r, t = (table[int(index[walk, n])] for table, index in zip(scoring[3:6], candidates[:3], strict=True))
            gate = float(scoring.gate[walk] + scoring.w_entity @ e + scoring.w_relation @ r + scoring.w_time @ t)
            beta = 1 / (1 + math.exp(-gate)) if weighted else 0.5
            node = float(scoring.e_tilde[walk, :size] @ e + scoring.e_tilde[walk, size:] @ t)
            phi = beta * node + (1 - beta) * float(scoring.r_tilde[walk] @ r)
            assert float(found.beta[walk, n]) == pytest.approx(beta, abs=1e-5)
            expected = phi if bool(candidates.mask[walk, n]) else -math.inf
            assert float(found.phi[walk, n]) == pytest.approx(expected, abs=1e-4)


def test_decisions_are_drawn_with_the_probabilities_of_the_policy():
    candidates, scoring, _ = random_case(1, 6, device="cpu", seed=3)
    count = 20_000
    many = Candidates(*(part.expand(count, -1) for part in candidates))
    of_walks = Scoring._make([*(part.expand(count, *part.shape[1:]) for part in scoring[:3]), *scoring[3:]])
    torch.manual_seed(0)
    decision = reference_decide(many, of_walks, gumbel_noise(many.mask), weighted=True)
    pi = torch.softmax(score_actions(candidates, scoring, weighted=True).phi[0], dim=0)
    shares = torch.bincount(decision.choice, minlength=6) / count
    torch.testing.assert_close(shares, pi, rtol=0, atol=4 * 0.5 / math.sqrt(count))  # four standard deviations
    assert int(candidates.mask.sum()) > 1
    torch.testing.assert_close(decision.log_probability, pi[decision.choice].log())
    entropy = -float(sum(p * math.log(p) for p in pi.tolist() if p > 0))
    assert decision.entropy.tolist() == pytest.approx([entropy] * count, abs=1e-5)
