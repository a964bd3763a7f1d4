"""Sizes against formulas derived by hand."""

import json
from pathlib import Path

import pytest
import torch
from torch import Tensor

from commands import titer
from strategies import random_facts
from titer.data.dataset import Dataset
from titer.data.split import split_by_fraction
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.evaluation.size import BATCH_SIZE, Size, multiply_adds
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model
from titer.models.registry import model_class
from titer.models.titer.sampled import reference_sampled_dots, sampled_dots
from titer.runs.run import Run
from titer.training.config import Config
from training.tiny_model import TinyModel

ENTITIES, RELATIONS, STEPS = 40, 3, 25


@pytest.fixture
def dataset() -> Dataset:
    facts = random_facts(5, 600, ENTITIES, RELATIONS, STEPS)
    vocabulary = Vocabulary.numbered(ENTITIES, RELATIONS)
    return Dataset("random", vocabulary, TimeAxis(), *split_by_fraction(facts, (0.7, 0.15, 0.15)))


def make(dataset: Dataset, name: str, **settings: object) -> Model:
    config = Config.from_dict({"model": settings}, name)
    return model_class(name)(dataset.vocabulary, dataset.axis, config.model)


@pytest.mark.slow
@pytest.mark.parametrize(("num_edges", "num_rollouts"), [(7, 1), (30, 1), (7, 3)])
def test_a_step_of_titer_counts_the_products_of_the_papers_equations(
    dataset: Dataset, num_edges: int, num_rollouts: int
):
    entity, time, relation, state, hidden = 5, 3, 7, 11, 13
    node = entity + time
    model = make(
        dataset, "titer", entity_dim=entity, time_dim=time, relation_dim=relation, state_dim=state, hidden_dim=hidden,
        num_edges=num_edges, num_rollouts=num_rollouts,
    )  # fmt: skip
    size = Size.of(model, dataset)
    num_relation_ids, num_lags = dataset.vocabulary.num_relation_ids, int(dataset.train.time.max()) + 1

    weights = 4 * state * (relation + node + state) + (state + node + relation) * hidden + hidden * (node + relation)
    gate = state + 2 * (node + relation)
    biases = 8 * state + hidden + node + relation + 1
    tables = ENTITIES * entity + num_relation_ids * relation + 2 * time
    assert size.parameters == weights + gate + biases + tables

    # The query's part of W_1 and of β is computed once for the three steps of a walk;
    once = (node + relation) * hidden + (node + relation)
    network = 4 * state * (relation + node + state) + state * hidden + hidden * (node + relation) + state
    # the tables' parts of β once for a batch, and a table that is not much longer than the actions as a whole.
    walks = BATCH_SIZE * num_rollouts
    shared = ENTITIES * entity + num_relation_ids * relation + num_lags * time
    actions = 0
    for rows, dim in ((ENTITIES, entity), (num_relation_ids, relation), (num_lags, time)):
        actions += dim * (rows if rows <= 2 * (num_edges + 1) else num_edges + 1)
    # The walks of a query share their first hop.
    first, later = (once + network + actions) / num_rollouts, network + actions
    assert size.multiply_adds_per_step == round((first + 2 * later) / 3 + shared / walks)


@pytest.mark.slow
def test_a_query_of_a_bilinear_model_is_one_product_with_the_entity_table(dataset: Dataset):
    size = Size.of(make(dataset, "tiny", dim=6), dataset)
    expected = Size(6 * (ENTITIES + 2 * RELATIONS) + 1, ENTITIES * 6, ENTITIES * 6)
    assert size == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", ["recurrency", "random_walk"])
def test_models_without_parameters_have_no_products(dataset: Dataset, name: str):
    assert Size.of(make(dataset, name), dataset) == Size(0, None, 0)


@pytest.mark.slow
def test_sampled_products_are_counted_as_if_they_were_gathered():
    x, table, rows = torch.randn(4, 6), torch.randn(50, 6), torch.randint(0, 50, (4, 9))
    assert multiply_adds(lambda: sampled_dots(x, table, rows)) == 4 * 9 * 6
    assert multiply_adds(lambda: reference_sampled_dots(x, table, rows)) == 4 * 9 * 6
    assert multiply_adds(lambda: table @ x[0]) == 50 * 6


class SharedProducts(TinyModel):
    """Computes one product for all queries about a subject."""

    def score(self, queries: Queries, history: History) -> Tensor:
        subject, place = torch.unique(queries.subject, return_inverse=True)
        return (self.entity(subject) @ self.entity.weight.T)[place]


@pytest.mark.slow
def test_the_counted_queries_differ_so_that_shared_work_is_not_undercounted(dataset: Dataset):
    subjects = len(set(dataset.train[-BATCH_SIZE // 2 :].subject) | set(dataset.train[-BATCH_SIZE // 2 :].object))
    size = Size.of(SharedProducts(dataset.vocabulary, dataset.axis), dataset)
    assert size.multiply_adds_per_question == round(subjects * ENTITIES * SharedProducts.Config().dim / BATCH_SIZE)


@pytest.mark.slow
def test_counting_changes_neither_the_model_nor_the_random_state(dataset: Dataset):
    model = make(dataset, "titer", num_edges=5, baseline="moving_average", entropy_decays_per="batch").eval()
    before, random = {name: tensor.clone() for name, tensor in model.state_dict().items()}, torch.get_rng_state()
    Size.of(model, dataset)
    assert torch.equal(torch.get_rng_state(), random)
    assert not model.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


@pytest.mark.slow
def test_the_command_counts_a_configuration_and_a_run_alike(tmp_path: Path):
    titer("train", "small-world", "--model", "recurrency", "--out", tmp_path / "run")
    assert "0 parameters" in titer("size", tmp_path / "run")
    found = json.loads(titer("size", "titer/small-world", "--json"))
    assert found["parameters"] > 100_000
    printed = titer("size", "titer/small-world")
    assert f"{found['multiply_adds_per_step']:,} multiply-adds per query and hop in training" in printed


@pytest.mark.slow
def test_the_command_counts_the_same_every_time(tmp_path: Path):
    small = [f"--set=model.{size}=8" for size in ("entity_dim", "time_dim", "attention_dim", "kept_edges")]
    words = ["train", "small-world", "--model", "xerte", "--out", str(tmp_path / "run"), "--set=training.epochs=1"]
    titer(*words, *small, "--set=model.num_edges=[8,8]")
    counts = [titer("size", tmp_path / "run", "--json") for _ in range(2)]
    assert counts[0] == counts[1]


@pytest.mark.slow
def test_the_command_counts_a_prepared_model(tmp_path: Path):
    quick = ["--set", "training.epochs=1", "--set", "training.validate_every=1", "--set", "model.dim=8"]
    words = ["train", "small-world", "--model", "ta_distmult", "--out", str(tmp_path / "run"), *quick]
    titer(*words)
    run = Run(tmp_path / "run")
    found = json.loads(titer("size", run.path, "--json"))
    # TA-DistMult reads dates character by character, and learns their length from the facts.
    trained = Size.of(run.load_model(), run.dataset)
    assert found["multiply_adds_per_step"] == trained.multiply_adds_per_step


@pytest.mark.real_data
def test_titer_on_icews14_is_smaller_than_published(datasets_folder: Path):
    words = ["size", "titer/icews14", "--data", str(datasets_folder / "ICEWS14"), "--json"]
    found = json.loads(titer(*words))
    # The published relation table has a row for every entity; with it there would be 1.455 million parameters.
    assert (found["parameters"], found["multiply_adds_per_step"]) == (788_181, 168_248)
