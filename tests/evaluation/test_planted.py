"""Planted facts: ranks and evidence of models whose answers and evidence are known."""

import pytest
import torch
from torch import Tensor

from titer.data.small_world import SmallWorld
from titer.evaluation.planted import PlantedResult, evaluate_planted, share_of_causes_found
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model
from titer.models.evidence import Edge, Evidence
from titer.models.registry import model_class

pytestmark = pytest.mark.slow
PLANTED = ["chain", "consequence", "latecomer", "recurring"]


class Oracle(Model):
    """Knows every answer, and the first ``max_causes`` causes of every fact."""

    name = "oracle"

    def __init__(self, world: SmallWorld, max_causes: int = 2):
        super().__init__(world.dataset.vocabulary, world.dataset.axis)
        facts = list(world.dataset.facts)
        self.reasons: dict[tuple[int, int, int, int], tuple[Edge, ...]] = {}
        for (s, r, o, t), causes in zip(facts, world.causes, strict=True):
            edges = [Edge(*facts[cause]) for cause in causes[:max_causes]]
            self.reasons[s, r, o, t] = tuple(edges)
            self.reasons[o, self.vocabulary.inverse(r), s, t] = tuple(self.turned(edge) for edge in edges)

    def turned(self, edge: Edge) -> Edge:
        return Edge(edge.object, self.vocabulary.inverse(edge.relation), edge.subject, edge.time)

    def score(self, queries: Queries, history: History) -> Tensor:
        asked = zip(queries.subject.tolist(), queries.relation.tolist(), queries.time.tolist(), strict=True)
        scores = torch.zeros(len(queries), self.vocabulary.num_entities)
        for row, (s, r, t) in enumerate(asked):
            for answer in range(self.vocabulary.num_entities):
                scores[row, answer] = float((s, r, answer, t) in self.reasons)
        return scores

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        path = self.reasons[int(query.subject), int(query.relation), answer, int(query.time)]
        return [Evidence(path, 0.6), Evidence((), 0.4)][:limit]


@pytest.mark.slow
@pytest.mark.parametrize("split", ["valid", "test"])
def test_an_oracle_finds_every_answer_and_every_cause(world: SmallWorld, split: str):
    results = evaluate_planted(Oracle(world), world, split)
    assert list(results) == PLANTED
    begin = len(world.dataset.train) + (len(world.dataset.valid) if split == "test" else 0)
    kinds = world.kinds[begin : begin + len(world.dataset.split(split))]
    for kind, result in results.items():
        assert result.metrics.mrr == 1
        assert result.causes_found == result.ranked_first == result.metrics.queries == 2 * kinds.count(kind)
    assert share_of_causes_found(results.values()) == 1


def test_a_chain_needs_both_of_its_causes(world: SmallWorld):
    results = evaluate_planted(Oracle(world, max_causes=1), world)
    assert results["chain"].ranked_first > 0
    assert results["chain"].causes_found == 0
    assert all(results[kind].causes_found == results[kind].ranked_first for kind in PLANTED if kind != "chain")


def test_the_same_fact_of_another_day_is_not_the_cause(world: SmallWorld):
    model = Oracle(world)
    model.reasons = {
        fact: tuple(edge._replace(time=edge.time - 1) for edge in path) for fact, path in model.reasons.items()
    }
    assert share_of_causes_found(evaluate_planted(model, world).values()) == 0


def test_the_share_is_zero_if_no_answer_is_ranked_first(world: SmallWorld):
    model = Oracle(world)
    model.reasons = {}
    results = evaluate_planted(model, world)
    assert all(result.ranked_first == 0 for result in results.values())
    assert share_of_causes_found(results.values()) == 0
    assert share_of_causes_found([]) == 0


def test_the_share_is_over_all_queries_and_not_over_kinds(world: SmallWorld):
    metrics = evaluate_planted(Oracle(world), world)["chain"].metrics
    assert share_of_causes_found([PlantedResult(metrics, 9, 9), PlantedResult(metrics, 1, 0)]) == 0.9


def test_recurrency_finds_the_causes_of_recurring_facts(world: SmallWorld):
    model = model_class("recurrency")(world.dataset.vocabulary, world.dataset.axis)
    results = evaluate_planted(model, world)
    assert share_of_causes_found(results.values()) > 0.9
