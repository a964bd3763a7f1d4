"""Calibration: the probabilities of top answers against their accuracy."""

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.evaluation.calibration import NUM_BINS, Confidence, TopAnswers
from titer.evaluation.evaluate import evaluate
from titer.evaluation.protocol import Filter, Protocol
from titer.forecasting.forecaster import Forecaster
from titer.graph.filters import TrueAnswers
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, Model
from titer.models.common import row_pieces
from titer.models.recurrency import Recurrency
from titer.models.scores import DenseScores, ScoreBlock
from titer.runs.run import Run
from titer.runs.train import train
from titer.training.config import Config
from titer.training.temperature import fit_temperature

NO_SCORES = [UNREACHED] * 3
NO_OTHERS = torch.tensor([], dtype=torch.int64), torch.tensor([], dtype=torch.int64)


def judge(
    logits: torch.Tensor,
    answers: torch.Tensor,
    temperature: float,
    others: tuple[torch.Tensor, torch.Tensor] = NO_OTHERS,
) -> Confidence:
    top = TopAnswers(DenseScores(logits), others)
    top.add(ScoreBlock(0, logits), temperature)
    return top.confidence(answers)


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans()), min_size=1, max_size=60))
def test_calibration_error_is_the_mean_gap_to_the_accuracy_over_the_bins(
    pairs: list[tuple[float, bool]],
):
    sure, right = zip(*pairs, strict=True)
    confidence = Confidence(torch.tensor(sure), torch.tensor(right))
    expected = 0.0
    for number in range(NUM_BINS):
        inside = [p for p in pairs if min(int(p[0] * NUM_BINS), NUM_BINS - 1) == number]
        if inside:
            gap = sum(p[0] for p in inside) / len(inside) - sum(p[1] for p in inside) / len(inside)
            expected += len(inside) / len(pairs) * abs(gap)
    assert confidence.expected_calibration_error() == pytest.approx(expected, abs=1e-6)
    assert sum(found.queries for found in confidence.bins()) == len(pairs)


def test_no_error_if_the_probability_equals_the_accuracy():
    confidence = Confidence(torch.full((10,), 0.5), torch.tensor([True, False] * 5))
    assert confidence.expected_calibration_error() == 0
    always = Confidence(torch.ones(10), torch.tensor([True, False] * 5))
    assert always.expected_calibration_error() == pytest.approx(0.5)


def test_a_top_answer_is_correct_if_it_is_the_true_one_and_has_a_score():
    logits = torch.tensor([[0.0, math.log(3), UNREACHED], [5.0, 1.0, 2.0], NO_SCORES])
    answers = torch.tensor([1, 1, 0])
    found = judge(logits, answers, 1.0)
    assert found.correct.tolist() == [True, False, False]
    assert found.probability.tolist() == pytest.approx([0.75, 1 / (1 + math.exp(-4) + math.exp(-3)), 0.0])
    assert judge(logits, answers, 2.0).probability[0] == pytest.approx(math.sqrt(3) / (1 + math.sqrt(3)))


def test_other_true_answers_are_no_candidates():
    logits = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    found = judge(logits, torch.tensor([1, 2]), 1.0, others=(torch.tensor([0]), torch.tensor([2])))
    expected = [1 / (1 + math.exp(-1)), 1 / (1 + math.exp(-1) + math.exp(-2))]
    assert found.probability.tolist() == pytest.approx(expected)
    assert found.correct.tolist() == [True, True]


@pytest.mark.slow
@given(
    rows=st.lists(st.lists(st.sampled_from([UNREACHED, -1.0, 0.0, 2.5]), min_size=5, max_size=5), min_size=1),
    cuts=st.sets(st.integers(1, 4)),
    others=st.sets(st.integers(0, 4)),
    piece=st.sampled_from([1, 6, 1 << 18]),
)
def test_top_answers_do_not_depend_on_blocks_and_pieces(
    rows: list[list[float]], cuts: set[int], others: set[int], piece: int
):
    logits = torch.tensor(rows)
    masked = torch.tensor([(row, entity) for entity in sorted(others) for row in range(len(rows))]).reshape(-1, 2)
    top = TopAnswers(DenseScores(logits), (masked[:, 0], masked[:, 1]))
    bounds = [0, *sorted(cuts), 5]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_pieces, "PIECE", piece)
        for start, end in itertools.pairwise(bounds):
            top.add(ScoreBlock(start, logits[:, start:end]), 1.0, 0.5)
    kept = logits.clone()
    kept[:, sorted(others)] = UNREACHED
    known = kept.amax(dim=1) > UNREACHED
    for probability, temperature in zip(top.probabilities(), (1.0, 0.5), strict=True):
        expected = torch.where(known, torch.softmax(kept / temperature, dim=1).amax(dim=1), 0.0)
        torch.testing.assert_close(probability, expected)
    assert top.confidence(kept.argmax(dim=1)).correct.tolist() == known.tolist()


@pytest.mark.slow
def test_evaluation_gives_the_same_calibration_for_every_filter_and_batch_size(world_data: Dataset):
    model = Recurrency(world_data.vocabulary, world_data.axis)
    found = evaluate(model, world_data, "valid").to_dict()["calibration"]
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    queries, answers = Queries.from_facts(world_data.valid, world_data.vocabulary)
    scores = model.score(queries, History(world_data.facts, world_data.vocabulary))
    row, entity = TrueAnswers(world_data.facts, world_data.vocabulary).of(queries)
    for one, other in zip(row.tolist(), entity.tolist(), strict=True):
        if other != answers[one]:
            scores[one, other] = 0.0  # the weight that Recurrency gives to an entity without evidence
    sure, answer = model.probabilities(scores).max(dim=1)
    right = (answer == answers).tolist()
    expected = Confidence(sure, torch.tensor(right)).expected_calibration_error()
    assert found["expected_calibration_error"] == pytest.approx(expected, abs=1e-4)
    for filter in Filter:
        other = evaluate(model, world_data, "valid", Protocol(filter), batch_size=7).to_dict()["calibration"]
        assert other["expected_calibration_error"] == pytest.approx(expected, abs=1e-4)


class Overconfident(Model):
    """Knows the log-odds of every answer, and returns three times as much."""

    name = "overconfident"

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis):
        super().__init__(vocabulary, axis)
        self.odds = torch.randn(50, vocabulary.num_entities, generator=torch.Generator().manual_seed(0))

    def score(self, queries: Queries, history: History) -> torch.Tensor:
        asks_subject = self.vocabulary.is_inverse(queries.relation)
        return torch.where(asks_subject[:, None], UNREACHED, 3 * self.odds[queries.time % 50])


@pytest.fixture(scope="module")
def overconfident() -> tuple[Overconfident, Dataset]:
    vocabulary = Vocabulary.numbered(8, 1)
    model = Overconfident(vocabulary, TimeAxis())
    generator = np.random.default_rng(0)
    rows = []
    for time in range(4000):
        chances = torch.softmax(model.odds[time % 50].double(), dim=0).numpy()
        rows.append((time % 8, 0, int(generator.choice(8, p=chances)), time))
    train, valid, test = (Facts.from_rows(rows[a:b]) for a, b in ((0, 100), (100, 3000), (3000, 4000)))
    return model, Dataset("odds", vocabulary, TimeAxis(), train, valid, test)


def test_the_temperature_calibrates_an_overconfident_model(overconfident: tuple[Overconfident, Dataset]):
    model, dataset = overconfident
    before = evaluate(model, dataset, "test")
    found = fit_temperature(model, dataset)
    assert 2.2 < found < 4
    model.temperature = found
    after = evaluate(model, dataset, "test")
    errors = [e.confidence.expected_calibration_error() for e in (before, after)]
    assert errors[1] < errors[0] / 3
    assert torch.equal(before.ranks_under(), after.ranks_under())
    assert after.to_dict()["calibration"]["temperature"] == found
    # The test split has no influence.
    assert fit_temperature(model, replace(dataset, test=Facts.empty())) == found


def test_the_temperature_is_one_without_a_validation_split(overconfident: tuple[Overconfident, Dataset]):
    model, dataset = overconfident
    assert fit_temperature(model, replace(dataset, valid=Facts.empty())) == 1.0


def test_a_run_stores_its_temperature_and_uses_it_in_forecasts(world_data: Dataset, tmp_path: Path):
    run = train(world_data, Config.from_dict({}, "recurrency"), tmp_path / "run")
    model = run.load_model("cpu")
    assert model.temperature == run.summary["temperature"] == fit_temperature(model, world_data)
    found = Forecaster(model, world_data).ask("Aldoria", "hold talks with", at="2023-07-01", top=100)
    probabilities = [answer.probability for answer in found.answers]
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) == pytest.approx(1, abs=1e-4)
    # A run made before temperatures existed has a temperature of 1.
    run.finish({"seconds": 1.0})
    assert Run(run.path).load_model("cpu").temperature == 1.0
