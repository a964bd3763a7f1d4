"""The results of ``make demo``: TITer beats the baselines, the path mixture beats TITer, and the evidence of both
contains the planted causes."""

import pytest

from titer.data.small_world import SmallWorld
from titer.evaluation.evaluate import evaluate
from titer.evaluation.planted import PlantedResult, evaluate_planted, share_of_causes_found
from titer.models.base import Model
from titer.runs.reproduce import find_configuration
from titer.runs.train import train
from titer.training.config import Config

SETTINGS = {
    **{
        name: Config.load(
            find_configuration(f"{name}/small-world"), overrides=["training.seed=0", "training.device=cpu"]
        )
        for name in ("titer", "path_mixture")
    },
    "recurrency": Config.load(model="recurrency"),
    "random_walk": Config.load(model="random_walk"),
}
BASELINES = ("recurrency", "random_walk")

# One process trains for all tests, which takes half a minute on a free core.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo"), pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def models(world: SmallWorld, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Model]:
    folder = tmp_path_factory.mktemp("demo")
    return {name: train(world.dataset, config, folder / name).load_model("cpu") for name, config in SETTINGS.items()}


@pytest.fixture(scope="module")
def mrr(models: dict[str, Model], world: SmallWorld) -> dict[str, float]:
    return {name: evaluate(model, world.dataset).metrics().mrr for name, model in models.items()}


@pytest.fixture(scope="module")
def planted(models: dict[str, Model], world: SmallWorld) -> dict[str, dict[str, PlantedResult]]:
    return {name: evaluate_planted(model, world) for name, model in models.items()}


@pytest.mark.parametrize("baseline", BASELINES)
def test_titer_beats_the_baselines(mrr: dict[str, float], baseline: str):
    assert mrr["titer"] > mrr[baseline] + 0.05


@pytest.mark.parametrize("other", ["titer", *BASELINES])
def test_the_path_mixture_beats_all_others(mrr: dict[str, float], other: str):
    assert mrr["path_mixture"] > mrr[other] + 0.02


@pytest.mark.parametrize("kind", ["chain", "latecomer"])
@pytest.mark.parametrize("baseline", BASELINES)
def test_titer_clearly_beats_the_baselines_on_two_hops_and_on_late_entities(
    planted: dict[str, dict[str, PlantedResult]], baseline: str, kind: str
):
    assert planted["titer"][kind].metrics.mrr > planted[baseline][kind].metrics.mrr + 0.2


def test_the_strongest_path_of_titer_contains_the_true_cause(planted: dict[str, dict[str, PlantedResult]]):
    found = planted["titer"].values()
    asked = sum(result.metrics.queries for result in found)
    assert sum(result.ranked_first for result in found) > 0.8 * asked  # there is something to explain
    assert share_of_causes_found(found) >= 0.8


def test_titer_answers_a_chain_through_both_of_its_causes(planted: dict[str, dict[str, PlantedResult]]):
    # Only one of the two queries has such a path: a contract is later than the appointment, and walks go back in time.
    chain = planted["titer"]["chain"]
    assert chain.causes_found > chain.metrics.queries / 4


@pytest.mark.parametrize("kind", ["chain", "consequence", "latecomer", "recurring"])
def test_the_path_mixture_finds_planted_facts(planted: dict[str, dict[str, PlantedResult]], kind: str):
    found = {name: results[kind].metrics.mrr for name, results in planted.items()}
    assert found["path_mixture"] >= 0.95
    assert found["path_mixture"] > max(found[baseline] for baseline in BASELINES) + 0.05
    assert found["path_mixture"] > found["titer"] - 0.01


def test_the_strongest_path_of_the_path_mixture_contains_the_true_cause(planted: dict[str, dict[str, PlantedResult]]):
    found = planted["path_mixture"]
    asked = sum(result.metrics.queries for result in found.values())
    assert sum(result.ranked_first for result in found.values()) > 0.9 * asked
    assert share_of_causes_found(found.values()) >= 0.9


def test_the_path_mixture_explains_both_queries_of_a_chain(planted: dict[str, dict[str, PlantedResult]]):
    # Its paths need not go back in time from hop to hop: from the director to the company to a later contract.
    chain = planted["path_mixture"]["chain"]
    assert chain.causes_found > 0.9 * chain.metrics.queries
