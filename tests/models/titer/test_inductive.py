"""The inductive mean against a plain loop over time."""

from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from strategies import LAST_TIME, Graph, directed_edges, graphs
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.titer.config import TITerConfig
from titer.models.titer.inductive import InductiveTable, co_occurrences, relation_means
from titer.models.titer.model import TITer

DIM = 3


def means_by_hand(graph: Graph, train: Facts, table: torch.Tensor) -> dict[int, torch.Tensor]:
    members: dict[int, set[int]] = {}
    for subject, relation, _, _ in directed_edges(train, graph.vocabulary):
        members.setdefault(relation, set()).add(subject)
    return {relation: table[sorted(entities)].mean(dim=0) for relation, entities in members.items()}


def state_by_hand(
    graph: Graph, entity: int, query_time: int, table: torch.Tensor, means: dict, mu: float
) -> torch.Tensor:
    state = table[entity]
    edges = [(r, t) for s, r, _, t in directed_edges(graph.facts, graph.vocabulary) if s == entity and t < query_time]
    for time in sorted({t for _, t in edges}):
        relations = {r for r, t in edges if t == time}
        mean = torch.stack([means.get(r, torch.zeros(DIM)) for r in relations]).mean(dim=0)
        state = mu * state + (1 - mu) * mean
    return state


@given(graphs(), st.integers(0, LAST_TIME), st.integers(-2, LAST_TIME + 2), st.sampled_from([0.0, 0.1, 0.7, 1.0]))
def test_unseen_entities_follow_the_update_over_time(graph: Graph, cut: int, query_time: int, mu: float):
    train = graph.facts.before(cut)
    num_entities, relations = graph.vocabulary.num_entities, graph.vocabulary.num_directed_relations
    table = torch.randn(num_entities, DIM, generator=torch.Generator().manual_seed(0))
    trained = torch.zeros(num_entities, dtype=torch.bool)
    trained[train.subject.astype("int64")] = True
    trained[train.object.astype("int64")] = True
    means, known = relation_means(table, *co_occurrences(train, graph.vocabulary), relations)
    inductive = InductiveTable(table, trained, means, known, History(graph.facts, graph.vocabulary), mu)
    by_hand = means_by_hand(graph, train, table)
    entities = torch.arange(num_entities)
    rows = inductive.rows(entities, torch.full_like(entities, query_time))
    relation = torch.full_like(entities, query_time % relations)
    shift, applies = inductive.shifted(Queries(entities, relation, torch.full_like(entities, query_time)))
    for entity in range(num_entities):
        if trained[entity]:
            assert int(rows[entity]) == entity
            assert not bool(applies[entity])
            continue
        state = state_by_hand(graph, entity, query_time, table, by_hand, mu)
        torch.testing.assert_close(inductive.table[rows[entity]], state, rtol=1e-4, atol=1e-5)
        mean = by_hand.get(query_time % relations)
        assert bool(applies[entity]) == (mean is not None)
        if mean is not None:
            torch.testing.assert_close(shift[entity], mu * state + (1 - mu) * mean, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_a_query_leaves_no_state_behind(world_data):
    model = TITer(world_data.vocabulary, world_data.axis, TITerConfig(num_edges=10, beam_size=20)).eval()
    model.prepare(world_data.train, world_data.valid)
    history = History(world_data.facts, world_data.vocabulary)
    queries, _ = Queries.from_facts(world_data.test, world_data.vocabulary)
    assert not bool(model.trained[queries.subject].all())
    before = model.policy.entity.clone()
    alone = torch.cat([model.score(queries[i : i + 1], history) for i in range(0, len(queries), 40)])
    together = model.score(queries[::40], history)
    torch.testing.assert_close(alone, together, rtol=1e-4, atol=1e-4)
    assert torch.equal(model.policy.entity, before)


@torch.no_grad()
def test_a_query_may_have_an_entity_of_new_facts_as_its_subject(world_data):
    """A model that was trained on fewer entities scores queries about an entity that was added later."""
    model = TITer(world_data.vocabulary, world_data.axis, TITerConfig(num_edges=10, beam_size=20)).eval()
    model.prepare(world_data.train, world_data.valid)
    larger = Vocabulary([*world_data.vocabulary.entities, "Added"], world_data.vocabulary.relations)
    last = int(world_data.facts.time.max())
    added = larger.num_entities - 1
    history = History(world_data.facts, world_data.vocabulary).including(
        Facts.from_rows([(added, 0, 3, last + 1)]), larger
    )
    model.vocabulary = larger
    scores = model.score(Queries.one(added, 1, last + 2), history)[0]
    assert len(scores) == larger.num_entities
    assert float(scores[3]) > float("-inf")


@torch.no_grad()
def test_the_inductive_mean_changes_scores_of_unseen_subjects_only():
    rows = [(0, 0, 1, 0), (1, 0, 2, 1), (2, 1, 0, 2), (0, 1, 2, 3), (3, 0, 1, 5), (3, 0, 0, 6), (1, 1, 0, 6)]
    facts, vocabulary = Facts.from_rows(rows), Vocabulary.numbered(4, 2)
    history = History(facts, vocabulary)
    torch.manual_seed(0)
    models = [
        TITer(vocabulary, TimeAxis(), TITerConfig(inductive_mean=on, strictly_back=False)) for on in (True, False)
    ]
    models[1].load_state_dict(models[0].state_dict())
    for model in models:
        model.prepare(facts.before(4), Facts.empty())
        model.eval()
    about_new, about_old = Queries.one(3, 0, 8), Queries.one(1, 0, 5)
    with_mean, without = (model.score(about_new, history) for model in models)
    assert not torch.allclose(with_mean, without)
    with_mean, without = (model.score(about_old, history) for model in models)
    torch.testing.assert_close(with_mean, without)


class Work(TorchDispatchMode):
    """Counts the elements of all results. Operations in place do not count: they return the whole tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if not func.overloadpacket.__name__.endswith("_"):
            self.count += sum(part.numel() for part in tree_leaves(made) if isinstance(part, torch.Tensor))
        return made


def test_the_work_for_an_unseen_entity_is_linear_in_its_facts():
    vocabulary, table = Vocabulary.numbered(2, 1), torch.ones(1, DIM)
    means, known = torch.ones(2, DIM), torch.ones(2)

    def work(num_times: int) -> int:
        history = History(Facts.from_rows([(0, 0, 1, time) for time in range(num_times)]), vocabulary)
        with Work() as counter:
            InductiveTable(table, torch.tensor([True]), means, known, history, 0.1)
        return counter.count

    assert work(800) < 2.5 * work(400)
