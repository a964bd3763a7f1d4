"""The Dirichlet distributions of the time-shaped reward."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strategies import Graph, directed_edges, graphs
from titer.data.facts import Facts
from titer.data.load import load_dataset
from titer.data.vocabulary import Vocabulary
from titer.models.titer import reward
from titer.models.titer.reward import COUNT_BITS, SnapshotCounts, Tally, estimate_alpha, sample_beta


def tally(values: list[int]) -> Tally:
    key, times = torch.unique(torch.tensor(values, dtype=torch.int64), return_counts=True)
    return Tally(key, times)


def simulated(alpha: np.ndarray, samples: int, length: int, seed: int) -> SnapshotCounts:
    """Return multinomial samples with probabilities from Dirichlet(α); each row of α is a relation."""
    generator = np.random.default_rng(seed)
    counts, totals = [], []
    for relation, row in enumerate(alpha):
        for p in generator.dirichlet(row, samples):
            n = generator.multinomial(length, p)
            places = np.flatnonzero(n)
            counts += [((relation * len(row) + int(k)) << COUNT_BITS) + int(n[k]) for k in places]
            totals.append((relation << 32) + length)
    return SnapshotCounts(len(alpha), alpha.shape[1], tally(counts), tally(totals))


@pytest.mark.parametrize("leave_one_out", [False, True])
def test_known_alpha_is_recovered_from_simulated_counts(leave_one_out: bool):
    alpha = np.array([[4.0, 2.0, 1.0, 0.5], [0.3, 0.3, 3.0, 1.0]])
    found = estimate_alpha(simulated(alpha, 4000, 60, seed=1), leave_one_out=leave_one_out, max_iterations=3000)
    mean = found / found.sum(dim=1, keepdim=True)
    np.testing.assert_allclose(mean.numpy(), alpha / alpha.sum(axis=1, keepdims=True), rtol=0.08)
    if not leave_one_out:  # the leave-one-out likelihood is only an approximation of the strength
        np.testing.assert_allclose(found.numpy(), alpha, rtol=0.12)


@given(graphs(), st.integers(1, 6))
def test_counts_are_occurrences_of_the_answer_in_the_last_snapshots(graph: Graph, num_snapshots: int):
    found = SnapshotCounts.of(graph.facts, graph.vocabulary, num_snapshots)
    appearances = [(entity, t) for s, _, o, t in graph.facts for entity in (s, o)]
    counts, totals = [], []
    for _, relation, answer, query_time in directed_edges(graph.facts, graph.vocabulary):
        sample = [appearances.count((answer, query_time - lag)) for lag in range(1, num_snapshots + 1)]
        counts += [((relation * num_snapshots + k) << COUNT_BITS) + n for k, n in enumerate(sample) if n > 0]
        totals += [(relation << 32) + sum(sample)] if sum(sample) else []
    for ours, expected in ((found.counts, counts), (found.totals, totals)):
        assert torch.equal(ours.key, tally(expected).key)
        assert torch.equal(ours.times, tally(expected).times)


def test_counting_in_chunks_gives_the_same_counts(monkeypatch: pytest.MonkeyPatch):
    rows = [(i % 5, i % 2, (i * 3) % 5, i // 4) for i in range(60)]
    facts, vocabulary = Facts.from_rows(rows), Vocabulary.numbered(5, 2)
    whole = SnapshotCounts.of(facts, vocabulary, 4)
    monkeypatch.setattr(reward, "CHUNK", 7)
    parts = SnapshotCounts.of(facts, vocabulary, 4)
    for ours, expected in ((parts.counts, whole.counts), (parts.totals, whole.totals)):
        assert torch.equal(ours.key, expected.key)
        assert torch.equal(ours.times, expected.times)


def test_relations_without_samples_have_a_valid_distribution():
    alpha = estimate_alpha(SnapshotCounts.of(Facts.from_rows([(0, 0, 1, 0)]), Vocabulary.numbered(2, 1), 3))
    assert bool(torch.isfinite(alpha).all())
    assert bool((alpha > 0).all())


@pytest.mark.parametrize("a", [1e-3, 0.05, 0.7, 4.0])
@pytest.mark.parametrize("b", [1e-3, 0.4, 30.0])
def test_samples_have_the_distribution_of_one_component_of_a_dirichlet_sample(a: float, b: float):
    """Also where the sum of α is so small that Gamma samples underflow in single precision."""
    torch.manual_seed(0)
    number = 20_000
    found = np.sort(sample_beta(torch.full((number,), a), torch.full((number,), b)).double().numpy())
    expected = np.sort(np.random.default_rng(0).beta(a, b, number))
    assert found.min() >= 0
    assert found.max() <= 1
    mean, variance = a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))
    assert found.mean() == pytest.approx(mean, abs=5 * np.sqrt(variance / number) + 1e-7)
    # The largest distance between the two empirical distribution functions, at the level 0.001.
    places = np.concatenate([[1e-6], np.linspace(0.001, 0.999, 200)])
    gap = np.abs(np.searchsorted(found, places) - np.searchsorted(expected, places)).max() / number
    assert gap < 1.95 * np.sqrt(2 / number)


@pytest.mark.real_data
def test_alpha_of_icews14_has_converged_for_three_relations_of_four(datasets_folder):
    dataset = load_dataset(datasets_folder / "ICEWS14")
    samples = SnapshotCounts.of(dataset.train, dataset.vocabulary, 300)
    alpha = estimate_alpha(samples)
    assert alpha.shape == (460, 300)
    assert bool((alpha > 0).all())
    fewer = estimate_alpha(samples, max_iterations=190)
    changed = (alpha - fewer).abs().sum(dim=1) / alpha.sum(dim=1)
    assert float((changed < 0.01).float().mean()) > 0.75
