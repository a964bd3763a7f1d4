"""The sparse computation of the path mixture against a dense one."""

import copy
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.dense_path_mixture import dense_loss, dense_scores
from models.small_path_mixture import KINDS, gradients, random_model
from strategies import LAST_TIME, Graph, graphs
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.load import load_dataset
from titer.data.vocabulary import Vocabulary
from titer.evaluation.evaluate import evaluate_task
from titer.evaluation.task import EvaluationTask
from titer.forecasting.scoring import score
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.common import row_pieces
from titer.models.common.plan import lean, pad, sizes_of, tensors
from titer.models.path_mixture import fit, prior, scores, trust_network
from titer.models.path_mixture import model as model_module
from titer.models.path_mixture.bags import Bags, sum_rows
from titer.models.path_mixture.dropout import Dropout
from titer.models.path_mixture.mixture import Mixture, ScoringPlan
from titer.models.path_mixture.model import PathMixture
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.scores import DenseScores
from titer.training.batches import shuffled_batches


def assert_same(model: PathMixture, queries: Queries, answers: torch.Tensor, history: History) -> None:
    """Loss, gradients and scores are those of the dense computation."""
    expected = dense_loss(model, queries, answers, history)
    found = model.training_step(queries, answers, history).loss
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    wanted = gradients(model, expected)
    for name, gradient in gradients(model, found).items():
        torch.testing.assert_close(
            gradient, wanted[name], rtol=2e-3, atol=2e-5, msg=lambda m, name=name: f"{name}: {m}"
        )
    model.eval()
    with torch.inference_mode():
        torch.testing.assert_close(
            model.score(queries, history), dense_scores(model, queries, history), rtol=1e-4, atol=1e-4
        )


@pytest.mark.slow
@given(
    graph=graphs(),
    smoothing=st.sampled_from([0.0, 0.3]),
    members=st.integers(1, 2),
    without=st.sets(st.sampled_from(KINDS)),
    past_edges=st.sampled_from([1, 4, 1000]),
)
def test_loss_gradients_and_scores_are_those_of_the_dense_computation(
    graph: Graph, smoothing: float, members: int, without: set[str], past_edges: int
):
    settings = {"label_smoothing": smoothing, "members": members, "past_edges": past_edges}
    settings |= dict.fromkeys(without, False)
    model = random_model(graph.vocabulary, graph.facts, **settings)
    if len(graph.facts) == 0:
        return
    queries, answers = Queries.from_facts(graph.facts, graph.vocabulary)
    assert_same(model, queries, answers, History(graph.facts, graph.vocabulary))


@pytest.mark.slow
def test_the_small_world_gives_the_same_loss_gradients_and_scores(world_data: Dataset):
    model = random_model(world_data.vocabulary, world_data.train, label_smoothing=0.1)
    history = History(world_data.train, world_data.vocabulary)
    queries, answers = Queries.from_facts(world_data.train[-40:], world_data.vocabulary)
    assert_same(model, queries, answers, history)


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["ICEWS14", "YAGO"])
def test_real_data_give_the_same_loss_gradients_and_scores(datasets_folder: Path, name: str):
    dataset = load_dataset(datasets_folder / name)
    history = History(dataset.facts, dataset.vocabulary)
    # A bound that busy entities exceed, and queries of two time steps.
    model = random_model(dataset.vocabulary, dataset.train, label_smoothing=0.1, past_edges=64)
    times = torch.from_numpy(dataset.test.time).unique()
    facts = [dataset.test[dataset.test.time == int(time)][:10] for time in (times[0], times[-1])]
    queries, answers = Queries.from_facts(Facts.concatenate(*facts), dataset.vocabulary)
    assert_same(model, queries, answers, history)
    with pytest.MonkeyPatch.context() as patch, torch.inference_mode():
        patch.setattr(prior, "MAX_WHOLE", 0)
        patch.setattr(scores, "MAX_SCORES", 1000 * len(queries))
        in_blocks = copy.deepcopy(model).scores(queries, history)
        assert sum(1 for _ in in_blocks.blocks()) > 5
        torch.testing.assert_close(in_blocks.dense(), dense_scores(model, queries, history), rtol=1e-4, atol=1e-4)


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["ICEWS14", "YAGO"])
def test_real_data_give_the_same_ranks_probabilities_and_answers_in_blocks(
    datasets_folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
):
    dataset = load_dataset(datasets_folder / name)
    task = EvaluationTask(dataset, "test", max_queries=12)
    model = random_model(dataset.vocabulary, dataset.train, past_edges=64).eval()
    monkeypatch.setattr(prior, "MAX_WHOLE", 0)
    monkeypatch.setattr(scores, "MAX_SCORES", 1000 * len(task.queries))
    with torch.inference_mode():
        assert sum(1 for _ in model.scores(task.queries, task.history).blocks()) > 5
    found, answers = evaluate_task(model, task), score(model, task.queries, task.history).best(20)
    # The same scores in one tensor: ranks would not be equal if only the last digits of scores were different.
    in_blocks = model.scores
    monkeypatch.setattr(model, "scores", lambda *given: DenseScores(in_blocks(*given).dense()))
    expected, best = evaluate_task(model, task), score(model, task.queries, task.history).best(20)
    for column in ("better", "equal", "reached"):
        assert torch.equal(getattr(found.ranks, column), getattr(expected.ranks, column)), column
    torch.testing.assert_close(found.confidence.probability, expected.confidence.probability)
    assert torch.equal(found.confidence.correct, expected.confidence.correct)
    assert torch.equal(answers, best)


@pytest.mark.slow
@given(graph=graphs(), time=st.integers(-2, LAST_TIME))
def test_entities_added_after_training_are_scored_as_in_the_dense_computation(graph: Graph, time: int):
    model = random_model(graph.vocabulary, graph.facts).eval()
    old = graph.vocabulary.num_entities
    larger = Vocabulary([*graph.vocabulary.entities, "Added", "Added later"], graph.vocabulary.relations)
    later = Facts.from_rows([(old, 0, 0, time - 1), (0, 0, old + 1, time)])
    history = History(Facts.concatenate(graph.facts, later), larger)
    entities = torch.arange(larger.num_entities)
    queries = Queries(entities, torch.zeros_like(entities), torch.full_like(entities, time))
    with torch.inference_mode():
        torch.testing.assert_close(
            model.score(queries, history), dense_scores(model, queries, history), rtol=1e-4, atol=1e-4
        )


@given(graph=graphs(), times=st.lists(st.integers(-2, LAST_TIME), min_size=2, max_size=4))
@pytest.mark.slow
def test_states_that_are_kept_up_to_date_are_those_of_each_time(graph: Graph, times: list[int]):
    model = random_model(graph.vocabulary, graph.facts).eval()
    history = History(graph.facts, graph.vocabulary)
    entities = torch.arange(graph.vocabulary.num_entities)
    for time in times:
        queries = Queries(entities, torch.zeros_like(entities), torch.full_like(entities, time))
        fresh = copy.deepcopy(model)  # a copy begins without any kept state
        with torch.inference_mode():
            torch.testing.assert_close(model.score(queries, history), fresh.score(queries, history))


def test_states_do_not_depend_on_how_many_are_computed_together(world_data: Dataset, monkeypatch: pytest.MonkeyPatch):
    model = random_model(world_data.vocabulary, world_data.train).eval()
    history = History(world_data.facts, world_data.vocabulary)
    entities = torch.arange(world_data.vocabulary.num_entities)
    queries = [Queries(entities, torch.zeros_like(entities), torch.full_like(entities, time)) for time in (2, 9, 90)]
    with torch.inference_mode():
        expected = [copy.deepcopy(model).score(each, history) for each in queries]
        for module in (fit, prior):
            monkeypatch.setattr(module, "ENTITIES_AT_ONCE", 3)
        for each, wanted in zip(queries, expected, strict=True):
            torch.testing.assert_close(model.score(each, history), wanted, rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(copy.deepcopy(model).score(each, history), wanted, rtol=1e-5, atol=1e-6)


def test_scores_do_not_depend_on_whether_frequencies_are_kept(world_data: Dataset, monkeypatch: pytest.MonkeyPatch):
    model = random_model(world_data.vocabulary, world_data.train).eval()
    history = History(world_data.facts, world_data.vocabulary)
    queries, _ = Queries.from_facts(world_data.test[:20], world_data.vocabulary)
    with torch.inference_mode():
        expected = model.score(queries, history)
        monkeypatch.setattr(prior, "MAX_KEPT", 0)
        monkeypatch.setattr(prior.Prior, "_frequency", None)  # it keeps them
        torch.testing.assert_close(copy.deepcopy(model).score(queries, history), expected, rtol=1e-5, atol=1e-6)


def test_dropout_on_a_cpu_keeps_the_mean_and_zeroes_its_share():
    torch.manual_seed(0)
    values = torch.ones(1000, 257)  # not a multiple of eight
    dropped = Dropout(0.3).train()(values)
    assert float((dropped == 0).float().mean()) == pytest.approx(0.3, abs=0.01)
    assert float(dropped.mean()) == pytest.approx(1, abs=0.01)
    assert torch.equal(Dropout(0.3).eval()(values), values)


@given(
    terms=st.lists(st.lists(st.tuples(st.integers(0, 4), st.floats(-2, 2, width=32)), max_size=4), min_size=1),
)
def test_sums_of_rows_have_the_gradient_of_a_dense_product(terms: list[list[tuple[int, float]]]):
    table = torch.randn(5, 3, requires_grad=True)
    matrix = torch.zeros(len(terms), 5)
    for row, each in enumerate(terms):
        for index, weight in each:
            matrix[row, index] += weight
    flat = [term for each in terms for term in each]
    lengths = torch.tensor([len(each) for each in terms])
    index = torch.tensor([index for index, _ in flat], dtype=torch.int64)
    weight = torch.tensor([weight for _, weight in flat])
    found = sum_rows(table, Bags(index, weight, lengths))
    expected = matrix @ table
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    upstream = torch.randn_like(expected)
    (got,) = torch.autograd.grad(found, table, upstream)
    (wanted,) = torch.autograd.grad(expected, table, upstream)
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@given(
    graph=graphs(), time=st.integers(-2, LAST_TIME), members=st.integers(1, 2), without=st.sets(st.sampled_from(KINDS))
)
def test_scores_and_evidence_do_not_depend_on_the_size_of_blocks(
    graph: Graph, time: int, members: int, without: set[str]
):
    model = random_model(graph.vocabulary, graph.facts, members=members, **dict.fromkeys(without, False)).eval()
    history = History(graph.facts, graph.vocabulary)
    entities = torch.arange(graph.vocabulary.num_entities)
    queries = Queries(entities, torch.zeros_like(entities), torch.where(entities % 2 == 0, time, time + 1))
    one = Queries.one(0, 0, time)
    with torch.inference_mode():
        whole = model.score(queries, history)
        evidence = [model.explain(one, answer, history) for answer in entities.tolist()]
    with pytest.MonkeyPatch.context() as patch, torch.inference_mode():
        patch.setattr(prior, "MAX_WHOLE", 0)
        patch.setattr(prior, "PAIRS_AT_ONCE", 3)
        patch.setattr(scores, "MAX_SCORES", 2 * len(queries))
        fresh = copy.deepcopy(model)
        found = fresh.scores(queries, history)
        assert all(block.values.shape[1] <= 2 for block in found.blocks())
        torch.testing.assert_close(found.dense(), whole, rtol=1e-4, atol=1e-5)
        for answer, expected in zip(entities.tolist(), evidence, strict=True):
            again = {item.path: item.share for item in fresh.explain(one, answer, history)}
            assert again == pytest.approx({item.path: item.share for item in expected}, abs=1e-4)


@given(graph=graphs(), members=st.integers(1, 2), times=st.integers(1, 2))
def test_scores_do_not_depend_on_the_size_of_pieces(graph: Graph, members: int, times: int):
    model = random_model(graph.vocabulary, graph.facts, members=members).eval()
    larger = Vocabulary([*graph.vocabulary.entities, "Added later"], graph.vocabulary.relations)
    later = Facts.from_rows([(0, 0, graph.vocabulary.num_entities, LAST_TIME + 1)])
    history = History(Facts.concatenate(graph.facts, later), larger)
    entities = torch.arange(graph.vocabulary.num_entities).repeat(2)
    queries = Queries(entities, torch.zeros_like(entities), LAST_TIME - entities % times)
    with pytest.MonkeyPatch.context() as patch, torch.inference_mode():
        patch.setattr(row_pieces, "PIECE", 2 * larger.num_entities)
        patch.setattr(trust_network, "CHUNK", 3)
        found = model.score(queries, history)
        torch.testing.assert_close(found, dense_scores(model, queries, history), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@given(graph=graphs(), members=st.integers(1, 2), without=st.sets(st.sampled_from(KINDS)), times=st.integers(2, 4))
def test_scores_of_several_times_that_are_computed_together_are_the_dense_ones(
    graph: Graph, members: int, without: set[str], times: int
):
    settings = {"members": members, **dict.fromkeys(without, False)}
    model = random_model(graph.vocabulary, graph.facts, **settings).eval()
    larger = Vocabulary([*graph.vocabulary.entities, "Added later"], graph.vocabulary.relations)
    later = Facts.from_rows([(0, 0, graph.vocabulary.num_entities, LAST_TIME - 1)])
    history = History(Facts.concatenate(graph.facts, later), larger)
    entities = torch.arange(larger.num_entities).repeat(2)
    relation = torch.arange(len(entities)) % graph.vocabulary.num_directed_relations
    queries = Queries(entities, relation, LAST_TIME - torch.arange(len(entities)) % times)
    with pytest.MonkeyPatch.context() as patch, torch.inference_mode():
        # By default this is for a GPU, but it can be computed anywhere.
        patch.setattr(model_module, "can_be_joined", lambda batch, sizes: batch.groups is not None)
        found = model.score(queries, history)
        torch.testing.assert_close(found, dense_scores(model, queries, history), rtol=1e-4, atol=1e-4)


def test_a_query_that_is_asked_repeatedly_is_computed_once(world_data: Dataset):
    model = random_model(world_data.vocabulary, world_data.train).eval()
    history = History(world_data.train, world_data.vocabulary)
    queries, _ = Queries.from_facts(world_data.train[-40:], world_data.vocabulary)
    repeated = queries[torch.arange(len(queries)).repeat(2)]
    computed = list[int]()
    plan_scores = Mixture.plan_scores

    def spy(mixture: Mixture, batch: QueryBatch) -> ScoringPlan:
        computed.append(len(batch))
        return plan_scores(mixture, batch)

    with pytest.MonkeyPatch.context() as patch, torch.inference_mode():
        patch.setattr(Mixture, "plan_scores", spy)
        found = model.score(repeated, history)
    distinct = {tuple(column.tolist()) for column in torch.stack([queries.subject, queries.relation, queries.time]).T}
    assert sum(computed) == len(distinct)
    with torch.inference_mode():
        expected = dense_scores(model, repeated, history)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@given(
    graph=graphs(),
    more=st.integers(1, 40),
    members=st.integers(1, 2),
    without=st.sets(st.sampled_from(KINDS)),
)
def test_a_padded_plan_gives_the_same_loss_and_gradients(graph: Graph, more: int, members: int, without: set[str]):
    if len(graph.facts) == 0:
        return
    settings = {"label_smoothing": 0.1, "members": members, **dict.fromkeys(without, False)}
    model = random_model(graph.vocabulary, graph.facts, **settings)
    assert_padding_changes_nothing(model, graph.facts, more)


def test_a_padded_plan_of_the_small_world_gives_the_same_loss_and_gradients(world_data: Dataset):
    model = random_model(world_data.vocabulary, world_data.train, label_smoothing=0.1)
    assert_padding_changes_nothing(model, world_data.train, 7)


def assert_padding_changes_nothing(model: PathMixture, facts: Facts, more: int) -> None:
    history = History(facts, model.vocabulary)
    queries, answers = Queries.from_facts(facts[facts.time == facts.time.max()], model.vocabulary)
    plans = model.plans(queries, answers, [len(queries)], history)
    assert plans is not None
    (plan,) = plans
    # Each dimension grows by another number of rows.
    sizes = {dim: size + more + i for i, (dim, size) in enumerate(sorted(sizes_of(plan).items()))}
    padded = pad(lean(plan), sizes)
    assert sizes_of(padded) == sizes
    expected, found = model.planned_step(plan).loss, model.planned_step(padded).loss
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    wanted = gradients(model, expected)
    for name, gradient in gradients(model, found).items():
        torch.testing.assert_close(
            gradient, wanted[name], rtol=1e-4, atol=1e-5, msg=lambda m, name=name: f"{name}: {m}"
        )


@pytest.mark.slow
@given(graph=graphs(), members=st.integers(1, 2), without=st.sets(st.sampled_from(KINDS)))
def test_batches_planned_together_have_the_plans_of_each(graph: Graph, members: int, without: set[str]):
    if len(graph.facts) == 0:
        return
    model = random_model(graph.vocabulary, graph.facts, members=members, **dict.fromkeys(without, False))
    assert_planned_together(model, graph.facts)


def test_batches_of_the_small_world_that_are_planned_together_have_the_plans_of_each(world_data: Dataset):
    assert_planned_together(random_model(world_data.vocabulary, world_data.train), world_data.train[:150])


def assert_planned_together(model: PathMixture, facts: Facts) -> None:
    history = History(facts, model.vocabulary)
    queries, answers = Queries.from_facts(facts, model.vocabulary)
    torch.manual_seed(0)
    batches = shuffled_batches(queries, 5, by_time=True)
    every = torch.cat(batches)
    together = model.plans(queries[every], answers[every], [len(rows) for rows in batches], history)
    assert together is not None
    for rows, found in zip(batches, together, strict=True):
        plans = model.plans(queries[rows], answers[rows], [len(rows)], history)
        assert plans is not None
        (expected,) = plans
        assert sizes_of(found) == sizes_of(expected)
        for ours, theirs in zip(tensors(found), tensors(expected), strict=True):
            torch.testing.assert_close(ours.double(), theirs.double(), rtol=1e-5, atol=1e-6)
