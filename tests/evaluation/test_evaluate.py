import json

import numpy as np
import pytest
import torch

from strategies import random_facts
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.split import split_by_fraction
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError, TiterError
from titer.evaluation.evaluate import evaluate, past_facts
from titer.evaluation.protocol import CONVENTIONS, Filter, Past, Protocol, Ties, Unreachable, convention
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, Model
from titer.models.recurrency import Recurrency


class Spy(Model):
    """Scores by a fixed table, and remembers what it was shown."""

    name = "spy"

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis):
        super().__init__(vocabulary, axis)
        generator = torch.Generator().manual_seed(0)
        size = (vocabulary.num_directed_relations, vocabulary.num_entities)
        self.table = torch.randint(0, 5, size, generator=generator).float()
        self.table[self.table == 0] = UNREACHED
        self.last_times: set[int | None] = set()

    def score(self, queries: Queries, history: History) -> torch.Tensor:
        self.last_times.add(history.last_time)
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
            rivals = [s for e, s in enumerate(scores) if e != answer and e not in true]
            better = sum(s > scores[answer] for s in rivals)
            equal = sum(s == scores[answer] for s in rivals)
            rank = 1 + better + {"optimistic": 0, "realistic": equal / 2, "pessimistic": equal}[protocol.ties]
            if protocol.unreachable is Unreachable.LAST and scores[answer] == UNREACHED:
                rank = 30
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


def test_a_history_that_would_not_be_frozen_is_refused(dataset: Dataset):
    with pytest.raises(TiterError, match="nothing would be frozen"):
        evaluate(Spy(dataset.vocabulary, dataset.axis), dataset, "valid", Protocol(past=Past.FROZEN_AT_VALID))


def test_validation_never_looks_at_the_test_split(dataset: Dataset):
    assert past_facts(dataset, "valid", Past.ROLLING) == Facts.concatenate(dataset.train, dataset.valid)


def test_frozen_history_changes_a_models_forecasts(world_data: Dataset):
    model = Recurrency(world_data.vocabulary, world_data.axis)
    rolling, frozen = (
        evaluate(model, world_data, "test", Protocol(past=p)) for p in (Past.ROLLING, Past.FROZEN_AT_TRAIN)
    )
    assert not torch.equal(rolling.ranks_under(), frozen.ranks_under())


def test_ranks_do_not_depend_on_the_batch_size(world_data: Dataset):
    model = Recurrency(world_data.vocabulary, world_data.axis)
    small, large = (evaluate(model, world_data, "valid", batch_size=size) for size in (3, 1000))
    assert torch.equal(small.ranks_under(), large.ranks_under())


def test_the_result_states_every_setting_and_adds_up(dataset: Dataset):
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
    for groups in result["breakdown"].values():
        assert sum(group["queries"] for group in groups.values()) == result["queries"]
        weighted = sum(group["queries"] * group["mrr"] for group in groups.values())
        assert weighted / result["queries"] == pytest.approx(result["metrics"]["mrr"])
    assert set(result["other_conventions"]) == {"paper"}


def test_unseen_means_absent_from_training(dataset: Dataset):
    seen = set(dataset.train.subject.tolist()) | set(dataset.train.object.tolist())
    newcomer = Facts.from_rows([(30, 0, 1, 99), (2, 1, 30, 99), (2, 1, 3, 99)])
    assert {2, 3} <= seen
    larger = Dataset("new", Vocabulary.numbered(31, 4), dataset.axis, dataset.train, dataset.valid, newcomer)
    groups = evaluate(Spy(larger.vocabulary, larger.axis), larger, "test").by_unseen()
    assert {name: metrics.queries for name, metrics in groups.items()} == {"seen": 2, "unseen": 4}


def test_a_repeated_fact_is_filtered_once():
    """WIKI repeats some facts; a rival that is true twice must not be taken out twice."""
    rows = [(0, 0, 1, 0), (0, 0, 1, 0), (0, 0, 2, 0)]
    facts = Facts.from_rows(rows)
    dataset = Dataset("twice", Vocabulary.numbered(4, 1), TimeAxis(), facts, Facts.empty(), facts)
    ranks = evaluate(Spy(dataset.vocabulary, dataset.axis), dataset, "test").ranks_under()
    assert bool((ranks >= 1).all())


def test_nan_scores_are_an_error(dataset: Dataset):
    spy = Spy(dataset.vocabulary, dataset.axis)
    spy.table[0, 0] = torch.nan
    with pytest.raises(TiterError, match="NaN"):
        evaluate(spy, dataset, "test")


def test_an_empty_split_and_an_unknown_convention_are_errors(dataset: Dataset):
    empty = Dataset("empty", dataset.vocabulary, dataset.axis, dataset.train, dataset.valid, Facts.empty())
    with pytest.raises(DataError, match="empty"):
        evaluate(Spy(dataset.vocabulary, dataset.axis), empty, "test")
    with pytest.raises(TiterError, match="no convention"):
        convention("optimistic")


def test_scores_are_ranked_the_same_whatever_their_scale(world_data: Dataset):
    class Doubled(Recurrency):
        def score(self, queries: Queries, history: History) -> torch.Tensor:
            return 2 * super().score(queries, history)

    plain, doubled = (
        evaluate(c(world_data.vocabulary, world_data.axis), world_data, "valid") for c in (Recurrency, Doubled)
    )
    assert np.array_equal(plain.ranks_under().numpy(), doubled.ranks_under().numpy())
