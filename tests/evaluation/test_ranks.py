"""Ranks against plain loops, PyKEEN and TGB."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from block_scores import PermutedScores
from titer.evaluation.metrics import Metrics, by_group
from titer.evaluation.protocol import Ties, Unreachable
from titer.evaluation.ranks import Ranks, rank_answers
from titer.models.common import row_pieces

SCORES = st.sampled_from([-math.inf, -1.0, 0.0, 0.5, 2.0])


@st.composite
def rankings(draw: st.DrawFn) -> tuple[list[list[float]], list[int], list[set[int]]]:
    num_entities = draw(st.integers(1, 7))
    rows = draw(st.lists(st.lists(SCORES, min_size=num_entities, max_size=num_entities), min_size=1, max_size=5))
    entity = st.integers(0, num_entities - 1)
    answers = [draw(entity) for _ in rows]
    return rows, answers, [draw(st.sets(entity)) | {answer} for answer in answers]


def ranked(rows: list[list[float]], answers: list[int], true: list[set[int]]) -> Ranks:
    pairs = [(i, entity) for i, entities in enumerate(true) for entity in sorted(entities)]
    filtered = torch.tensor(pairs).reshape(-1, 2).unbind(1)
    return rank_answers(torch.tensor(rows), torch.tensor(answers), (filtered[0], filtered[1]))


@given(rankings())
def test_ranks_are_the_best_the_mean_or_the_worst_of_ties(
    case: tuple[list[list[float]], list[int], list[set[int]]],
):
    rows, answers, true = case
    ranks = ranked(rows, answers, true)
    for i, (scores, answer) in enumerate(zip(rows, answers, strict=True)):
        candidates = [score for entity, score in enumerate(scores) if entity == answer or entity not in true[i]]
        best = 1 + sum(score > scores[answer] for score in candidates)
        worst = sum(score >= scores[answer] for score in candidates)
        assert float(ranks.under(Ties.OPTIMISTIC)[i]) == best
        assert float(ranks.under(Ties.PESSIMISTIC)[i]) == worst
        assert float(ranks.under(Ties.REALISTIC)[i]) == (best + worst) / 2
        last = len(scores) if scores[answer] == -math.inf else best
        assert float(ranks.under(Ties.OPTIMISTIC, Unreachable.LAST)[i]) == last


@given(rankings())
def test_ranks_do_not_depend_on_the_size_of_pieces(case: tuple[list[list[float]], list[int], list[set[int]]]):
    expected = ranked(*case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_pieces, "PIECE", 2 * len(case[0][0]))
        found = ranked(*case)
    assert torch.equal(found.better, expected.better)
    assert torch.equal(found.equal, expected.equal)


@given(case=rankings(), data=st.data())
def test_ranks_do_not_depend_on_blocks_and_the_order_of_entities(
    case: tuple[list[list[float]], list[int], list[set[int]]], data: st.DataObject
):
    rows, answers, true = case
    values = torch.tensor(rows)
    scores = PermutedScores(values, data.draw(st.permutations(range(values.shape[1]))))
    pairs = torch.tensor([(i, entity) for i, entities in enumerate(true) for entity in sorted(entities)])
    found = rank_answers(scores, torch.tensor(answers), (pairs[:, 0], pairs[:, 1]))
    expected = ranked(rows, answers, true)
    assert torch.equal(found.better, expected.better)
    assert torch.equal(found.equal, expected.equal)
    assert torch.equal(found.reached, expected.reached)
    assert torch.equal(scores.dense(), values)


def test_an_unreachable_answer_is_tied_below_all_answers_with_a_score():
    ranks = ranked([[3.0, 1.0, -math.inf, -math.inf, -math.inf]], [3], [{3}])
    assert ranks.reached.tolist() == [False]
    assert ranks.under().tolist() == [4.0]
    assert ranks.under(unreachable=Unreachable.LAST).tolist() == [5.0]
    assert float(1 / ranks.under(unreachable=Unreachable.MISSED)) == pytest.approx(0, abs=1e-8)


def test_metrics_of_known_ranks():
    metrics = Metrics.of(torch.tensor([1.0, 2.0, 4.0, 10.0], dtype=torch.float64))
    assert metrics.mrr == pytest.approx((1 + 0.5 + 0.25 + 0.1) / 4)
    assert (metrics.hits_at_1, metrics.hits_at_3, metrics.hits_at_10) == (0.25, 0.5, 1.0)
    assert (metrics.mean_rank, metrics.queries) == (4.25, 4)


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 3)), min_size=1))
def test_the_metrics_of_groups_average_to_the_metrics_of_all(pairs: list[tuple[int, int]]):
    ranks = torch.tensor([rank for rank, _ in pairs], dtype=torch.float64)
    groups = by_group(ranks, torch.tensor([group for _, group in pairs]))
    assert sum(part.queries for part in groups.values()) == len(pairs)
    assert sum(part.mrr * part.queries for part in groups.values()) == pytest.approx(Metrics.of(ranks).mrr * len(pairs))


def tied_scores(seed: int, queries: int = 400, entities: int = 60) -> tuple[torch.Tensor, torch.Tensor, list[set[int]]]:
    """Scores with very many ties, and for each query some other true answers."""
    generator = np.random.default_rng(seed)
    scores = torch.from_numpy(generator.integers(0, 6, (queries, entities)).astype(np.float32))
    answers = torch.from_numpy(generator.integers(0, entities, queries))
    true = [set(generator.integers(0, entities, 5).tolist()) | {int(a)} for a in answers]
    return scores, answers, true


@pytest.mark.slow
def test_pykeens_rank_based_evaluator_agrees():
    pykeen = pytest.importorskip("pykeen.evaluation", reason="PyKEEN is not installed: make oracles")
    scores, answers, true = tied_scores(0)
    ranks = ranked(scores.tolist(), answers.tolist(), true)
    evaluator = pykeen.RankBasedEvaluator(filtered=True)
    # PyKEEN marks filtered candidates with NaN, the answer itself not among them.
    filtered = scores.clone()
    for i, others in enumerate(true):
        filtered[i, sorted(others - {int(answers[i])})] = torch.nan
    evaluator.process_scores_(
        hrt_batch=torch.stack([torch.zeros_like(answers), torch.zeros_like(answers), answers], dim=1),
        target="tail",
        scores=filtered,
        true_scores=scores.gather(1, answers[:, None]),
    )
    results = evaluator.finalize()
    for ties in Ties:
        ours = Metrics.of(ranks.under(ties))
        assert results.get_metric(f"tail.{ties}.inverse_harmonic_mean_rank") == pytest.approx(ours.mrr)
        assert results.get_metric(f"tail.{ties}.arithmetic_mean_rank") == pytest.approx(ours.mean_rank)
        for k, hits in ((1, ours.hits_at_1), (3, ours.hits_at_3), (10, ours.hits_at_10)):
            assert results.get_metric(f"tail.{ties}.hits_at_{k}") == pytest.approx(hits)


@pytest.mark.slow
def test_tgbs_evaluator_agrees():
    tgb = pytest.importorskip("tgb.linkproppred.evaluate", reason="TGB is not installed: make oracles")
    scores, answers, true = tied_scores(1)
    ranks = ranked(scores.tolist(), answers.tolist(), true)
    evaluator = tgb.Evaluator(name="tkgl-icews")
    found = []
    for i, answer in enumerate(answers.tolist()):
        negatives = [entity for entity in range(scores.shape[1]) if entity not in true[i]]
        result = evaluator.eval(
            {
                "y_pred_pos": scores[i, [answer]].numpy(),
                "y_pred_neg": scores[i, negatives].numpy(),
                "eval_metric": ["mrr"],
            }
        )
        found.append(float(result["mrr"]))
    assert np.mean(found) == pytest.approx(Metrics.of(ranks.under(Ties.REALISTIC)).mrr)
