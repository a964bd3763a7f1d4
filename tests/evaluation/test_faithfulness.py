"""Faithfulness: how answers change when their evidence is removed."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from commands import titer
from strategies import LAST_TIME, Graph, graphs
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import NoEvidenceError
from titer.evaluation.faithfulness import faithfulness, make_trial, score_without, strongest_facts
from titer.graph.filters import TrueAnswers
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.random_walk import RandomWalk, RandomWalkConfig
from titer.models.recurrency import Recurrency

CAUSE = (0, 0, 1, 5)
IRRELEVANT = [(0, 1, 2, 1), (0, 1, 3, 2), (0, 1, 2, 3), (4, 1, 0, 4)]


@pytest.fixture
def dataset() -> Dataset:
    """One fact supports the answer of the test fact; no other does."""
    train, test = Facts.from_rows([*IRRELEVANT, CAUSE]), Facts.from_rows([(0, 0, 1, 9)])
    return Dataset("one cause", Vocabulary.numbered(6, 2), TimeAxis(), train, Facts.empty(), test)


def test_an_answer_loses_its_rank_without_its_only_evidence_and_keeps_it_without_other_facts(dataset: Dataset):
    found = faithfulness(Recurrency(dataset.vocabulary, dataset.axis), dataset)
    # The other query, (?, 0, 1), has the same evidence, and no other fact of its subject to compare it with.
    assert (found.sampled, found.compared, found.facts_taken) == (2, 1, 1.0)
    assert (found.whole.mrr, found.whole.fallen) == (1.0, 0.0)
    assert found.whole.probability > 0.2
    assert (found.without_evidence.probability, found.without_evidence.fallen) == (0.0, 1.0)
    # Three entities still have a score; the answer is tied with the two others that have none.
    assert found.without_evidence.mean_rank == 5.0
    assert (found.without_random.mrr, found.without_random.fallen) == (1.0, 0.0)
    assert found.without_random.probability >= found.whole.probability


def test_random_facts_are_other_past_facts_of_the_subject(dataset: Dataset):
    history = History(dataset.facts, dataset.vocabulary)
    model, query = Recurrency(dataset.vocabulary, dataset.axis), Queries.one(0, 0, 9)
    drawn = set()
    for seed in range(60):
        trial = make_trial(model, query, 1, history, None, np.random.default_rng(seed))
        assert trial is not None
        assert list(trial.evidence) == [CAUSE]
        drawn |= set(trial.random)
    assert drawn == set(IRRELEVANT)


def test_the_strongest_facts_come_first_up_to_the_limit():
    rows = [(0, 0, 1, 1), (1, 0, 0, 7), (0, 0, 1, 8), (0, 0, 1, 4), (0, 0, 2, 8)]
    vocabulary = Vocabulary.numbered(3, 1)
    history, model = History(Facts.from_rows(rows), vocabulary), Recurrency(vocabulary, TimeAxis())

    def strongest(limit: int | None) -> list[tuple[int, ...]]:
        return list(strongest_facts(model, Queries.one(0, 0, 9), 1, history, limit))

    assert strongest(None) == strongest(1) == [(0, 0, 1, 8)]
    assert strongest(2) == [(0, 0, 1, 8), (0, 0, 1, 4)]
    assert strongest(10) == [(0, 0, 1, 8), (0, 0, 1, 4), (0, 0, 1, 1), (1, 0, 0, 7)]


@pytest.mark.slow
@given(graph=graphs(), time=st.integers(-2, LAST_TIME), seed=st.integers(0, 9), walks=st.booleans())
def test_no_fact_at_or_after_the_time_is_removed_or_used(graph: Graph, time: int, seed: int, walks: bool):
    vocabulary = graph.vocabulary
    model = (
        RandomWalk(vocabulary, TimeAxis(), RandomWalkConfig(num_walks=20))
        if walks
        else Recurrency(vocabulary, TimeAxis())
    )
    everything, past = History(graph.facts, vocabulary), History(graph.facts.before(time), vocabulary)
    true_answers = TrueAnswers(graph.facts, vocabulary)
    query = Queries.one(seed % vocabulary.num_entities, seed % vocabulary.num_directed_relations, time)
    for answer in range(vocabulary.num_entities):
        made = [
            make_trial(model, query, answer, history, None, np.random.default_rng(seed))
            for history in (everything, past)
        ]
        from_all, from_past = made
        assert (from_all is None) == (from_past is None)
        if from_all is None or from_past is None:
            continue
        for name in ("evidence", "random"):
            removed = getattr(from_all, name)
            assert removed == getattr(from_past, name)
            assert set(removed) <= set(graph.facts.before(time))
            qualities = [
                score_without(model, [from_all], [removed], history, true_answers) for history in (everything, past)
            ]
            torch.testing.assert_close(*qualities, rtol=1e-5, atol=1e-6)


def test_a_model_that_shows_no_evidence_cannot_be_measured(dataset: Dataset):
    class NoEvidence(Recurrency):
        def explain(self, query, answer, history, limit=10):
            return []

    with pytest.raises(NoEvidenceError, match="no evidence"):
        faithfulness(NoEvidence(dataset.vocabulary, dataset.axis), dataset)


@pytest.mark.slow
def test_the_command_measures_a_run(tmp_path: Path):
    titer("train", "small-world", "--model", "recurrency", "--out", tmp_path / "run")
    words = ("faithfulness", tmp_path / "run", "--questions", "60", "--seed", "4")
    shown = titer(*words)
    (found,) = json.loads(titer(*words, "--json"))
    assert found["sampled"] == 60
    assert f"{100 * found['without_evidence']['mrr']:.2f}" in shown
    assert found["without_evidence"]["mrr"] < found["without_random"]["mrr"]
    (more,) = json.loads(titer(*words, "--facts", "5", "--split", "valid", "--json"))
    assert (more["split"], found["facts_taken"]) == ("valid", 1.0)
    assert 1.0 < more["facts_taken"] <= 5.0
