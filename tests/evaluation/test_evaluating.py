"""Whoever asks a model leaves it as it was found, also when something goes wrong."""

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

Ask = Callable[[Model, SmallWorld], object]
ASKERS: dict[str, Ask] = {
    "evaluate": lambda model, world: evaluate(model, world.dataset, "valid", quiet=True),
    "evaluate_planted": evaluate_planted,
    "faithfulness": lambda model, world: faithfulness(model, world.dataset, questions=5),
    "fit_temperature": lambda model, world: fit_temperature(model, world.dataset),
}


class Watched(Recurrency):
    """Remembers whether it was in training whenever it was asked, and fails where it is told to."""

    def __init__(self, world: SmallWorld, fails_at: str = ""):
        super().__init__(world.dataset.vocabulary, world.dataset.axis)
        self.modes: set[bool] = set()
        self.fails_at = fails_at

    def _asked(self, what: str) -> None:
        self.modes.add(self.training)
        if what == self.fails_at:
            raise RuntimeError("the model cannot bear this")

    def score(self, queries: Queries, history: History) -> Tensor:
        self._asked("score")
        return super().score(queries, history)

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        self._asked("explain")
        return super().explain(query, answer, history, limit)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("ask", ASKERS.values(), ids=ASKERS)
def test_a_model_is_asked_outside_of_training_and_left_as_it_was_found(world: SmallWorld, ask: Ask, training: bool):
    model = Watched(world).train(training)
    ask(model, world)
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
def test_a_model_that_fails_is_left_as_it_was_found(world: SmallWorld, name: str, fails_at: str):
    model = Watched(world, fails_at).train()
    with pytest.raises(RuntimeError, match="cannot bear"):
        ASKERS[name](model, world)
    assert model.training
