"""The experiment with knowledge of the other questions."""

import importlib.util
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

import titer
from titer.data.small_world import SmallWorld
from titer.graph.history import History
from titer.models.path_mixture.model import PathMixture

FILE = Path(__file__).parents[2] / "benchmarks" / "other_questions.py"
SMALL = {"dim": 8, "relation_dim": 8, "hidden_dim": 8, "first_edges": 4, "second_edges": 4, "state_edges": 4}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("other_questions", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def scores(script: ModuleType, dataset: titer.Dataset, knows: str, queries: titer.Queries) -> torch.Tensor:
    """Return the scores of an untrained model whose factors of the other questions are not 0."""
    torch.manual_seed(0)
    model = script.Informed(dataset.vocabulary, dataset.axis, script.InformedConfig(**SMALL, knows=knows))
    model.prepare(dataset.train, dataset.valid)
    for table in (model.of_query, model.of_number):
        torch.nn.init.normal_(table.weight)
    with torch.no_grad():
        return model.eval().score(queries, History(dataset.train, dataset.vocabulary))


def test_questions_of_a_time_step_are_those_of_its_facts(script: ModuleType, world: SmallWorld) -> None:
    dataset = world.dataset
    questions = script.Questions(dataset)
    for time in (int(dataset.train.time[0]), int(dataset.test.time[-1]), 10**6):
        expected = [
            question
            for facts in dataset.splits.values()
            for s, r, o, t in facts
            if t == time
            for question in ((s, r), (o, dataset.vocabulary.inverse(r)))
        ]
        found = zip(*(column.tolist() for column in questions.at(time)), strict=True)
        assert {(entity, relation): number for entity, relation, number in found} == Counter(expected)


def test_a_model_that_knows_nothing_is_the_path_mixture(script: ModuleType, world: SmallWorld) -> None:
    dataset = world.dataset
    script.Informed.questions = script.Questions(dataset)
    queries, _ = titer.Queries.from_facts(dataset.test[:20], dataset.vocabulary)
    torch.manual_seed(0)
    plain = PathMixture(dataset.vocabulary, dataset.axis, PathMixture.Config(**SMALL))
    plain.prepare(dataset.train, dataset.valid)
    with torch.no_grad():
        expected = plain.eval().score(queries, History(dataset.train, dataset.vocabulary))
    assert torch.equal(scores(script, dataset, "nothing", queries), expected)


@pytest.mark.slow
def test_training_learns_what_the_other_questions_show(script: ModuleType, world_data: titer.Dataset) -> None:
    splits = world_data.train[:200], world_data.valid[:20], world_data.test[:20]
    dataset = titer.Dataset("part", world_data.vocabulary, world_data.axis, *splits)
    script.Informed.questions = script.Questions(dataset)
    settings: dict[str, Any] = {**SMALL, "knows": "relations", "epochs": 1}
    trained = titer.train(dataset, "path_mixture_informed", **settings)
    assert bool(trained.model.get_parameter("of_query.weight").any())


KNOWLEDGE = {"entities": False, "relations": False, "both-directions": True}


@pytest.mark.slow
@pytest.mark.parametrize(("knows", "sees_inverse"), KNOWLEDGE.items())
def test_only_questions_of_a_known_direction_matter(
    script: ModuleType, world: SmallWorld, knows: str, sees_inverse: bool
) -> None:
    dataset = world.dataset
    subject, relation, object, time = next(iter(dataset.test))
    third = next(entity for entity in range(len(dataset.vocabulary.entities)) if entity not in (subject, object))

    def odds(*facts: tuple[int, int, int, int]) -> float:
        """Return the score of the object, compared with an entity that no question is about."""
        rows = titer.Facts.from_rows([*dataset.train, *facts])
        known = titer.Dataset("known", dataset.vocabulary, dataset.axis, rows, rows[:0], rows[:0])
        script.Informed.questions = script.Questions(known)
        found = scores(script, dataset, knows, titer.Queries.one(subject, relation, time))[0]
        return float(found[object] - found[third])

    without = odds()
    assert odds((object, relation, subject, time)) != pytest.approx(without, abs=1e-4)
    inverse_question = odds((subject, relation, object, time))
    assert (inverse_question != pytest.approx(without, abs=1e-4)) == sees_inverse
