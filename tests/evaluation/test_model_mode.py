"""Evaluation runs a model in evaluation mode and restores its mode afterwards, also after an error."""

from collections.abc import Callable

import pytest
from torch import Tensor

from titer.data.small_world import SmallWorld
from titer.evaluation.evaluate import evaluate
from titer.evaluation.faithfulness import faithfulness
from titer.evaluation.planted import evaluate_planted
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model
from titer.models.evidence import Evidence
from titer.models.recurrency import Recurrency
from titer.training.temperature import fit_temperature

Evaluate = Callable[[Model, SmallWorld], object]
EVALUATIONS: dict[str, Evaluate] = {
    "evaluate": lambda model, world: evaluate(model, world.dataset, "valid", quiet=True),
    "evaluate_planted": evaluate_planted,
    "faithfulness": lambda model, world: faithfulness(model, world.dataset, max_queries=5),
    "fit_temperature": lambda model, world: fit_temperature(model, world.dataset),
}


class Recording(Recurrency):
    """Records its mode at every call, and fails at a given method."""

    def __init__(self, world: SmallWorld, fails_at: str = ""):
        super().__init__(world.dataset.vocabulary, world.dataset.axis)
        self.modes: set[bool] = set()
        self.fails_at = fails_at

    def _record(self, what: str) -> None:
        self.modes.add(self.training)
        if what == self.fails_at:
            raise RuntimeError("the model fails here")

    def score(self, queries: Queries, history: History) -> Tensor:
        self._record("score")
        return super().score(queries, history)

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        self._record("explain")
        return super().explain(query, answer, history, limit)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("run", EVALUATIONS.values(), ids=EVALUATIONS)
def test_a_model_is_scored_in_evaluation_mode_and_its_mode_is_restored(
    world: SmallWorld, run: Evaluate, training: bool
):
    model = Recording(world).train(training)
    run(model, world)
    assert model.modes == {False}
    assert model.training == training


@pytest.mark.parametrize(
    ("name", "fails_at"),
    [
        ("evaluate", "score"),
        ("evaluate_planted", "explain"),
        ("faithfulness", "explain"),
        ("faithfulness", "score"),
        ("fit_temperature", "score"),
    ],
)
def test_the_mode_is_restored_after_an_error(world: SmallWorld, name: str, fails_at: str):
    model = Recording(world, fails_at).train()
    with pytest.raises(RuntimeError, match="fails here"):
        EVALUATIONS[name](model, world)
    assert model.training
