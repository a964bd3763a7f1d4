import json
import threading
from contextlib import nullcontext
from dataclasses import replace
from xml.etree import ElementTree

import pytest
import torch

from strategies import random_facts
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.split import split_by_fraction
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError, TiterError
from titer.evaluation.evaluate import Evaluation, evaluate, evaluate_task
from titer.evaluation.protocol import CONVENTIONS, Filter, Past, Protocol, Ties, Unreachable, convention
from titer.evaluation.task import EvaluationTask
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, Model
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.model import PathMixture
from titer.models.recurrency import Recurrency
from titer.models.scores import Scores


class Spy(Model):
    """Scores by a fixed table, and records the histories it is given."""

    name = "spy"

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis):
        super().__init__(vocabulary, axis)
        generator = torch.Generator().manual_seed(0)
        size = (vocabulary.num_directed_relations, vocabulary.num_entities)
        self.table = torch.randint(0, 5, size, generator=generator).float()
        self.table[self.table == 0] = UNREACHED
        self.last_times: set[int | None] = set()
        self.num_edges: set[int] = set()

    def score(self, queries: Queries, history: History) -> torch.Tensor:
        self.last_times.add(history.last_time)
        self.num_edges.add(history.num_edges)
        return self.table[queries.relation]


@pytest.fixture
def dataset() -> Dataset:
    facts = random_facts(5, 600, 30, 4, 40)
    return Dataset("random", Vocabulary.numbered(30, 4), TimeAxis(), *split_by_fraction(facts, (0.7, 0.15, 0.15)))


def oracle(dataset: Dataset, table: torch.Tensor, protocol: Protocol) -> float:
    """The MRR by plain loops."""
    everything = list(dataset.facts)
    total = 0.0
    for subject, relation, object, time in dataset.test:
        for inverse, (known, answer) in enumerate(((subject, object), (object, subject))):
            side = (0, 2) if not inverse else (2, 0)
            true = {
                fact[side[1]]
                for fact in everything
                if fact[side[0]] == known
                and fact[1] == relation
                and (protocol.filter is Filter.STATIC or fact[3] == time)
            }
            true = set() if protocol.filter is Filter.RAW else true
            scores = table[relation + 4 * inverse].tolist()
            candidates = [s for e, s in enumerate(scores) if e != answer and e not in true]
            better = sum(s > scores[answer] for s in candidates)
            equal = sum(s == scores[answer] for s in candidates)
            rank = 1 + better + {"optimistic": 0, "realistic": equal / 2, "pessimistic": equal}[protocol.ties]
            if scores[answer] == UNREACHED:
                rank = {"tied": rank, "last": 30, "missed": 1e9}[protocol.unreachable]
            total += 1 / rank
    return total / (2 * len(dataset.test))


@pytest.mark.parametrize("filter", list(Filter))
@pytest.mark.parametrize("ties", list(Ties))
@pytest.mark.parametrize("unreachable", list(Unreachable))
def test_every_protocol_agrees_with_plain_loops(dataset: Dataset, filter: Filter, ties: Ties, unreachable: Unreachable):
    protocol = Protocol(filter, ties, unreachable)
    spy = Spy(dataset.vocabulary, dataset.axis)
    found = evaluate(spy, dataset, "test", protocol, batch_size=7)
    assert found.metrics().mrr == pytest.approx(oracle(dataset, spy.table, protocol))


def test_the_paper_convention_is_time_aware_optimistic_and_last():
    assert convention("paper") == Protocol(Filter.TIME_AWARE, Ties.OPTIMISTIC, Unreachable.LAST, Past.ROLLING)
    assert Protocol() == CONVENTIONS["realistic"]


@pytest.mark.parametrize(
    ("past", "split"), [(Past.ROLLING, "test"), (Past.FROZEN_AT_VALID, "valid"), (Past.FROZEN_AT_TRAIN, "train")]
)
def test_a_frozen_history_ends_with_its_split(dataset: Dataset, past: Past, split: str):
    spy = Spy(dataset.vocabulary, dataset.axis)
    evaluate(spy, dataset, "test", Protocol(past=past))
    assert spy.last_times == {int(dataset.splits[split].time.max())}


def test_a_frozen_history_that_includes_the_split_is_rejected(dataset: Dataset):
    with pytest.raises(TiterError, match="frozen-at-valid history would include the valid split itself"):
        evaluate(Spy(dataset.vocabulary, dataset.axis), dataset, "valid", Protocol(past=Past.FROZEN_AT_VALID))


def test_evaluation_on_valid_gives_the_model_no_test_facts(dataset: Dataset):
    spy = Spy(dataset.vocabulary, dataset.axis)
    evaluate(spy, dataset, "valid")
    assert spy.last_times == {int(dataset.valid.time.max())}
    assert spy.num_edges == {2 * (len(dataset.train) + len(dataset.valid))}


def test_a_frozen_history_changes_the_ranks_of_a_model_that_reads_it(world_data: Dataset):
    model = Recurrency(world_data.vocabulary, world_data.axis)
    rolling, frozen = (
        evaluate(model, world_data, "test", Protocol(past=p)) for p in (Past.ROLLING, Past.FROZEN_AT_TRAIN)
    )
    assert not torch.equal(rolling.ranks_under(), frozen.ranks_under())


def test_ranks_do_not_depend_on_the_batch_size(world_data: Dataset):
    model = Recurrency(world_data.vocabulary, world_data.axis)
    small, large = (evaluate(model, world_data, "valid", batch_size=size) for size in (3, 1000))
    assert torch.equal(small.ranks_under(), large.ranks_under())


def test_the_result_has_every_setting_and_its_breakdowns_add_up(dataset: Dataset):
    result = evaluate(Spy(dataset.vocabulary, dataset.axis), dataset, "test").to_dict()
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert result["protocol"] == {
        "convention": "realistic",
        "filter": "time-aware",
        "ties": "realistic",
        "unreachable": "tied",
        "past": "rolling",
    }
    assert result["dataset"]["checksum"] == dataset.checksum
    assert result["queries"] == 2 * len(dataset.test)
    result["breakdown"]["novelty"].pop("never_seen", None)  # these are among the new ones
    for groups in result["breakdown"].values():
        assert sum(group["queries"] for group in groups.values()) == result["queries"]
        weighted = sum(group["queries"] * group["mrr"] for group in groups.values())
        assert weighted / result["queries"] == pytest.approx(result["metrics"]["mrr"])
    assert set(result["other_conventions"]) == {"paper"}


def test_unseen_means_absent_from_training(dataset: Dataset):
    seen = set(dataset.train.subject.tolist()) | set(dataset.train.object.tolist())
    unseen = Facts.from_rows([(30, 0, 1, 99), (2, 1, 30, 99), (2, 1, 3, 99)])
    assert {2, 3} <= seen
    larger = Dataset("new", Vocabulary.numbered(31, 4), dataset.axis, dataset.train, dataset.valid, unseen)
    groups = evaluate(Spy(larger.vocabulary, larger.axis), larger, "test").by_unseen()
    assert {name: metrics.queries for name, metrics in groups.items()} == {"seen": 2, "unseen": 4}


@pytest.mark.parametrize("other_score", [5.0, 1.0], ids=["better", "tied"])
def test_a_repeated_fact_is_filtered_once(other_score: float):
    """WIKI repeats some facts; a candidate that is true twice must not be subtracted twice."""
    facts = Facts.from_rows([(0, 0, 1, 0), (0, 0, 1, 0), (0, 0, 2, 0)])
    dataset = Dataset("twice", Vocabulary.numbered(4, 1), TimeAxis(), facts, Facts.empty(), facts)
    spy = Spy(dataset.vocabulary, dataset.axis)
    spy.table = torch.tensor([[0.0, other_score, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    ranks = evaluate(spy, dataset, "test").ranks_under()
    assert ranks.tolist() == [1.0] * 6


def test_nan_scores_are_an_error(dataset: Dataset):
    spy = Spy(dataset.vocabulary, dataset.axis)
    spy.table[0, 0] = torch.nan
    with pytest.raises(TiterError, match="NaN"):
        evaluate(spy, dataset, "test")


def test_an_empty_split_and_an_unknown_convention_are_errors(dataset: Dataset):
    empty = Dataset("empty", dataset.vocabulary, dataset.axis, dataset.train, dataset.valid, Facts.empty())
    with pytest.raises(DataError, match="empty"):
        evaluate(Spy(dataset.vocabulary, dataset.axis), empty, "test")
    with pytest.raises(TiterError, match="unknown convention 'optimistic'; choose from realistic, paper"):
        convention("optimistic")


def test_a_prepared_split_gives_the_same_result_for_every_model_that_reuses_it(world_data: Dataset):
    task = EvaluationTask(world_data, "valid")
    for _ in range(2):
        for kind in (Recurrency, Spy):
            model = kind(world_data.vocabulary, world_data.axis)
            shared, alone = evaluate_task(model, task).to_dict(), evaluate(model, world_data, "valid").to_dict()
            assert {**shared, "seconds": 0} == {**alone, "seconds": 0}


def test_an_evaluation_prints_its_protocol_metrics_and_calibration(dataset: Dataset):
    found = evaluate(Spy(dataset.vocabulary, dataset.axis), dataset, "test")
    lines = repr(found).splitlines()
    assert lines[0] == "Evaluation: spy on random, test split"
    assert lines[1] == "protocol: time-aware filter, realistic ties, unreachable tied, rolling history"
    assert lines[2].startswith(f"  all: queries {len(found.queries)}, MRR {100 * found.metrics().mrr:.2f}, Hits@1 ")
    assert len(lines) == 3 + len(found.rows())
    assert f"expected error {found.confidence.expected_calibration_error():.2%} at temperature 1" in lines[-1]


def test_a_notebook_shows_an_evaluation_as_a_table_with_escaped_names(dataset: Dataset):
    found = evaluate(Spy(dataset.vocabulary, dataset.axis), replace(dataset, name="<b>random & co</b>"), "test")
    html = found._repr_html_()
    assert "spy on &lt;b&gt;random &amp; co&lt;/b&gt;, test split" in html
    assert "Protocol: time-aware filter, realistic ties" in html
    assert f"expected error {found.confidence.expected_calibration_error():.2%}" in html
    page = ElementTree.fromstring(html)
    header, *rows = [[cell.text for cell in row] for row in page.iter("tr")]
    assert header == [None, "queries", "MRR", "Hits@1", "Hits@3", "Hits@10", "mean rank"]
    metrics = found.metrics()
    assert rows[0][:4] == ["all", f"{metrics.queries:,}", f"{100 * metrics.mrr:.2f}", f"{100 * metrics.hits_at_1:.2f}"]
    assert len(rows) == len(found.rows())


def test_a_sample_of_a_split_is_ranked_as_within_the_whole_split(dataset: Dataset):
    model = Spy(dataset.vocabulary, dataset.axis)
    whole = evaluate_task(model, EvaluationTask(dataset, "test"), quiet=True)
    part = evaluate_task(model, EvaluationTask(dataset, "test", max_queries=50), quiet=True)
    again = EvaluationTask(dataset, "test", max_queries=50)
    assert (len(part.queries), part.sampled_from, part.to_dict()["sampled_from"]) == (50, len(whole.queries), 192)
    assert torch.equal(part.answers, again.answers)
    rank_of = dict(zip(rows_of(whole), whole.ranks_under().tolist(), strict=True))
    assert [rank_of[row] for row in rows_of(part)] == part.ranks_under().tolist()


def test_a_split_that_is_small_enough_is_not_sampled(dataset: Dataset):
    found = evaluate_task(Spy(dataset.vocabulary, dataset.axis), EvaluationTask(dataset, max_queries=192), quiet=True)
    assert found.sampled_from is None
    assert "sampled_from" not in found.to_dict()


def rows_of(found: Evaluation) -> list[tuple[int, ...]]:
    columns = (found.queries.subject, found.queries.relation, found.queries.time, found.answers)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_threads_that_divide_the_batches_find_the_same_ranks(dataset: Dataset, monkeypatch: pytest.MonkeyPatch):
    torch.manual_seed(0)
    model = PathMixture(dataset.vocabulary, dataset.axis, PathMixtureConfig(dim=8, hidden_dim=8, rank=4))
    model.prepare(dataset.train, dataset.valid)
    used = set[int]()
    score = PathMixture.scores

    def spy(self: PathMixture, queries: Queries, history: History) -> Scores:
        used.add(threading.get_ident())
        return score(self, queries, history)

    monkeypatch.setattr(PathMixture, "scores", spy)
    monkeypatch.setattr("titer.evaluation.evaluate.side_by_side", lambda num_entities: nullcontext(1))
    expected = evaluate(model, dataset, batch_size=8)
    assert used == {threading.get_ident()}
    used.clear()
    monkeypatch.setattr("titer.evaluation.evaluate.side_by_side", lambda num_entities: nullcontext(3))
    found = evaluate(model, dataset, batch_size=8)
    assert len(used) == 3
    assert torch.equal(found.ranks.better, expected.ranks.better)
    assert torch.equal(found.ranks.equal, expected.ranks.equal)
    torch.testing.assert_close(found.confidence.probability, expected.confidence.probability)
