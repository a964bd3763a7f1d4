"""The decision of the agent, and the kernel of its dot products."""

import math

import pytest
import torch
from torch import Tensor

from titer.models.titer.decide import Candidates, Decision, Scoring, decide, gumbel_noise, score_actions
from titer.models.titer.sampled import reference_sampled_dots
from triton_interpreter import KERNEL_DEVICE, needs_kernels

NUM_ROWS, NUM_RELATIONS, NUM_LAGS = 23, 7, 11


def random_case(
    walks: int, actions: int, dims: tuple[int, int, int] = (6, 4, 5), seed: int = 0
) -> tuple[Candidates, Scoring, Tensor]:
    """Return random candidates of which each walk has at least one, everything that scores them, and noise."""
    generator = torch.Generator().manual_seed(seed)
    entity_dim, time_dim, relation_dim = dims

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    def integers(high: int) -> Tensor:
        return torch.randint(high, (walks, actions), generator=generator)

    mask = torch.rand(walks, actions, generator=generator) < 0.7
    if walks:
        mask[torch.arange(walks), torch.randint(actions, (walks,), generator=generator)] = True
    candidates = Candidates(integers(NUM_ROWS), integers(NUM_RELATIONS), integers(NUM_LAGS), mask)
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
    noise = gumbel_noise(torch.rand(walks, actions, generator=generator))
    return candidates, scoring, noise


def with_gradients(
    candidates: Candidates, scoring: Scoring, noise: Tensor, weighted: bool
) -> tuple[Decision, dict[str, Tensor]]:
    """Return the decision, and the gradient of everything that enters it for a random combination of its results."""
    inputs = Scoring(*(part.detach().clone().requires_grad_() for part in scoring))
    decision = decide(candidates, inputs, noise, weighted=weighted)
    generator = torch.Generator().manual_seed(99)
    of_log, of_entropy = (torch.randn(len(noise), generator=generator) for _ in range(2))
    loss = (of_log * decision.log_probability).sum() + (of_entropy * decision.entropy).sum()
    gradients = torch.autograd.grad(loss, inputs, allow_unused=True, materialize_grads=True)
    return decision, dict(zip(Scoring._fields, gradients, strict=True))


WEIGHTED = pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "unweighted"])


@WEIGHTED
@pytest.mark.parametrize("only", [0, 8, 12], ids=["first", "middle", "last"])
def test_a_decision_gives_a_single_action_the_probability_one(only: int, weighted: bool):
    candidates, scoring, noise = random_case(4, 13)
    mask = torch.zeros_like(candidates.mask)
    mask[:, only] = True
    _, gradients = with_gradients(candidates._replace(mask=mask), scoring, noise, weighted)
    decision = decide(candidates._replace(mask=mask), scoring, noise, weighted=weighted)
    assert decision.choice.tolist() == [only] * 4
    assert decision.log_probability.tolist() == [0.0] * 4
    assert decision.entropy.tolist() == [0.0] * 4
    assert all(float(gradient.abs().max()) < 1e-5 for gradient in gradients.values())


@WEIGHTED
@pytest.mark.parametrize("masked", [0, 12], ids=["first", "last"])
def test_a_decision_never_takes_a_masked_action_at_the_edge(masked: int, weighted: bool):
    candidates, scoring, noise = random_case(6, 13)
    mask = torch.ones_like(candidates.mask)
    mask[:, masked] = False
    noise[:, masked] = 1e6  # which would win if the action existed
    decision = decide(candidates._replace(mask=mask), scoring, noise, weighted=weighted)
    assert masked not in decision.choice.tolist()


@WEIGHTED
def test_a_decision_ignores_the_content_of_masked_actions(weighted: bool):
    candidates, scoring, noise = random_case(6, 13)
    other, _, _ = random_case(6, 13, seed=1)
    parts = (torch.where(candidates.mask, a, b) for a, b in zip(candidates[:3], other[:3], strict=True))
    changed = Candidates._make([*parts, candidates.mask])
    one, of_one = with_gradients(candidates, scoring, noise, weighted)
    two, of_two = with_gradients(changed, scoring, noise, weighted)
    assert torch.equal(one.choice, two.choice)
    torch.testing.assert_close(one.log_probability, two.log_probability, rtol=0, atol=1e-6)
    torch.testing.assert_close(one.entropy, two.entropy, rtol=0, atol=1e-6)
    for name, gradient in of_one.items():
        torch.testing.assert_close(of_two[name], gradient, rtol=1e-5, atol=1e-6)


@WEIGHTED
def test_a_decision_leaves_a_walk_without_actions_out(weighted: bool):
    candidates, scoring, noise = random_case(5, 13)
    candidates.mask[[0, 3]] = False
    decision = decide(candidates, scoring, noise, weighted=weighted)
    for row in (0, 3):
        assert [part[row].item() for part in decision] == [0, 0.0, 0.0]
    _, gradients = with_gradients(candidates, scoring, noise, weighted)
    for name in ("e_tilde", "r_tilde", "gate"):
        assert not bool(gradients[name][[0, 3]].any())
    kept = torch.tensor([1, 2, 4])
    alone = decide(
        Candidates._make(part[kept] for part in candidates),
        Scoring._make([*(part[kept] for part in scoring[:3]), *scoring[3:]]),
        noise[kept],
        weighted=weighted,
    )
    for ours, expected in zip(decision, alone, strict=True):
        torch.testing.assert_close(ours[kept], expected)


@WEIGHTED
def test_a_decision_takes_the_first_of_tied_actions(weighted: bool):
    candidates, scoring, noise = random_case(4, 13)
    same = Candidates._make([*(part[:, :1].expand(-1, 13).contiguous() for part in candidates[:3]), candidates.mask])
    decision = decide(same, scoring, torch.zeros_like(noise), weighted=weighted)
    first = candidates.mask.int().argmax(dim=1)
    assert torch.equal(decision.choice, first)
    torch.testing.assert_close(decision.entropy, candidates.mask.sum(dim=1).float().log())


def test_a_decision_chooses_by_score_plus_noise():
    candidates, scoring, noise = random_case(9, 13)
    candidates = candidates._replace(mask=torch.ones_like(candidates.mask))
    phi = score_actions(candidates, scoring, weighted=True).phi
    greedy = decide(candidates, scoring, torch.zeros_like(noise), weighted=True)
    assert torch.equal(greedy.choice, phi.argmax(dim=1))
    wanted = torch.arange(9)
    forced = decide(candidates, scoring, noise + 1e4 * torch.nn.functional.one_hot(wanted, 13), weighted=True)
    assert torch.equal(forced.choice, wanted)


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


@WEIGHTED
def test_scores_follow_the_formula(weighted: bool):
    candidates, scoring, _ = random_case(3, 5)
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
    candidates, scoring, _ = random_case(1, 6, seed=3)
    count = 20_000
    many = Candidates(*(part.expand(count, -1) for part in candidates))
    of_walks = Scoring._make([*(part.expand(count, *part.shape[1:]) for part in scoring[:3]), *scoring[3:]])
    torch.manual_seed(0)
    decision = decide(many, of_walks, gumbel_noise(many.mask), weighted=True)
    pi = torch.softmax(score_actions(candidates, scoring, weighted=True).phi[0], dim=0)
    shares = torch.bincount(decision.choice, minlength=6) / count
    torch.testing.assert_close(shares, pi, rtol=0, atol=4 * 0.5 / math.sqrt(count))  # four standard deviations
    assert int(candidates.mask.sum()) > 1
    torch.testing.assert_close(decision.log_probability, pi[decision.choice].log())
    entropy = -float(sum(p * math.log(p) for p in pi.tolist() if p > 0))
    assert decision.entropy.tolist() == pytest.approx([entropy] * count, abs=1e-5)
