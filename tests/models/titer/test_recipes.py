"""The three recipes of TITer, and the walk between them."""

import ast
import importlib.util
import inspect
from dataclasses import asdict, fields
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from models.titer.by_hand import SMALL
from titer.data.benchmarks import BENCHMARKS
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import ConfigError
from titer.models.titer import config as config_module
from titer.models.titer.config import TITerConfig
from titer.models.titer.model import TITer
from titer.models.titer.policy import Policy
from titer.runs.reproduce import dataset_of, find_configuration
from titer.training.config import Config

DATASETS = ("icews14", "icews18", "wiki", "yago")
RECIPES = ("paper", "released", "tuned")
# Every setting of the model in which two recipes differ: paper, released, tuned.
TABLE: dict[str, tuple[Any, Any, Any]] = {
    "strictly_back": (False, True, True),
    "may_stay_at_first": (True, False, False),
    "loop_counts_as_edge": (False, True, False),
    "start_relation": ("own", "self_loop", "own"),
    "initialisation": ("xavier", "normal", "normal"),
    "time_initialisation": ("xavier", "scales", "scales"),
    "freeze_state_on_self_loop": (True, False, False),
    "sampled_reward": (True, True, False),
    "entropy_decays_per": ("epoch", "batch", "batch"),
    "final_beam": (True, False, False),
}


def configuration(dataset: str, recipe: str, changes: list[str] | None = None) -> Config:
    name = f"titer/{dataset}" + ("" if recipe == "tuned" else f"-{recipe}")
    return Config.load(find_configuration(name), overrides=changes)


def documented_fields() -> set[str]:
    """Return the settings that are followed by a docstring."""
    [settings] = [node for node in ast.parse(inspect.getsource(config_module)).body if isinstance(node, ast.ClassDef)]
    return {
        field.target.id
        for field, doc in zip(settings.body, settings.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(doc, ast.Expr) and isinstance(doc.value, ast.Constant) and isinstance(doc.value.value, str)
    }


def test_every_recipe_sets_exactly_the_documented_settings():
    expected = {recipe: {name: row[i] for name, row in TABLE.items()} for i, recipe in enumerate(RECIPES)}
    assert expected == TITerConfig.PRESETS
    default = asdict(TITerConfig())
    for recipe, settings in expected.items():
        found = asdict(Config.from_dict({"model": {"preset": recipe}}, "titer").model)
        assert found == {**default, **settings}
    assert {**default, **expected["tuned"]} == default
    assert documented_fields() == {field.name for field in fields(TITerConfig)}
    section = (TITer.__doc__ or "").partition("Differences from the publication")[2]
    assert all(f"``{name}``" in section for name in TABLE)


def test_a_setting_overrides_the_recipe():
    mixed = Config.from_dict({"model": {"preset": "paper", "strictly_back": True}}, "titer").model
    assert mixed == TITerConfig(**{**TITerConfig.PRESETS["paper"], "strictly_back": True})


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_benchmark_has_every_recipe_in_full(dataset: str):
    edges = {"icews14": 50, "icews18": 50, "wiki": 60, "yago": 30}[dataset]
    unit = 24.0 if dataset.startswith("icews") else 1.0
    paper, released, tuned = (configuration(dataset, recipe) for recipe in RECIPES)
    plain = {**asdict(TITerConfig()), "num_edges": edges}
    assert asdict(paper.model) == {**plain, **TITerConfig.PRESETS["paper"], "time_scale": 1.0}
    assert asdict(released.model) == {**plain, **TITerConfig.PRESETS["released"], "time_scale": unit}
    chosen = ("dropout", "entropy_weight", "entropy_decay", "entropy_decays_per")  # on the validation split
    ours = {name: value for name, value in asdict(tuned.model).items() if name not in chosen}
    assert ours == {name: value for name, value in {**plain, "time_scale": unit}.items() if name not in chosen}
    weight_decay, kept, schedules = (
        [getattr(one.training, name) for one in (paper, released, tuned)]
        for name in ("weight_decay", "keep", "learning_rate_schedule")
    )
    assert weight_decay[:2] == [1e-6, 1e-5]
    assert kept == ["last", "last", "best"]
    assert schedules == ["constant", "constant", "linear"]
    for one in (paper, released, tuned):
        assert (one.training.learning_rate, one.training.batch_size, one.training.clip_gradient) == (0.001, 512, 10.0)
    # The same number of optimisation steps on every dataset, within a percent.
    steps = -(-2 * BENCHMARKS[dataset.upper()].facts[0] // 512) * paper.training.epochs
    assert steps == pytest.approx(400 * 249, rel=0.01)
    assert paper.training.epochs == released.training.epochs


@pytest.mark.parametrize(
    ("file", "dataset"),
    [("icews14", "icews14"), ("icews14-paper", "icews14"), ("small-world", "small-world"), ("WIKI-released", "wiki")],
)
def test_the_name_of_a_configuration_begins_with_its_dataset(file: str, dataset: str):
    assert dataset_of(Path(f"{file}.toml")) == dataset


def test_the_start_relation_may_be_that_of_the_self_loop():
    vocabulary = Vocabulary.numbered(3, 1)
    own, shared = (
        TITer(vocabulary, TimeAxis(), TITerConfig(**SMALL, start_relation=kind)).policy.start
        for kind in ("own", "self_loop")
    )
    assert (own, shared) == (vocabulary.start, vocabulary.self_loop)


def test_the_initial_frequencies_cover_all_scales_or_are_drawn():
    def frequencies(kind: str, seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return Policy(Vocabulary.numbered(3, 1), TITerConfig(time_initialisation=kind)).w.detach()

    torch.testing.assert_close(frequencies("scales", 0), 10.0 ** -torch.linspace(0, 9, 20))
    drawn = frequencies("xavier", 0)
    bound = (6 / (20 + 1)) ** 0.5
    assert float(drawn.abs().max()) <= bound
    assert float(drawn.std()) == pytest.approx(bound / 3**0.5, rel=0.4)
    assert not torch.equal(drawn, frequencies("xavier", 1))


def test_a_single_candidate_cannot_be_the_self_loop():
    with pytest.raises(ConfigError, match="loop_counts_as_edge"):
        TITerConfig(num_edges=1, loop_counts_as_edge=True)


@pytest.fixture(scope="module")
def commands() -> ModuleType:
    spec = importlib.util.spec_from_file_location("recipes", Path(__file__).parents[3] / "benchmarks" / "recipes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_walk_leads_from_the_paper_by_way_of_the_released_code_to_the_tuned_settings(commands: ModuleType):
    def after(steps: tuple[tuple[str, tuple[str, ...]], ...]) -> Config:
        return configuration("icews14", "paper", [change for _, changes in steps for change in changes])

    released = after((commands.WALK_START, *commands.TO_RELEASED))
    assert released == configuration("icews14", "released", ["training.epochs=100"])
    assert after(commands.WALK) == configuration("icews14", "tuned")
    reached = [after(commands.WALK[:number]) for number in range(len(commands.WALK) + 1)]
    assert all(before != later for before, later in pairwise(reached))
    walk = list(commands.walk(0))
    assert [configuration("icews14", "paper", list(one.changes)) for one in walk] == reached[1:-1]


def test_the_commands_name_existing_configurations_and_their_cost(commands: ModuleType):
    found = list(commands.trainings())
    assert len({(one.label, one.seed) for one in found}) == len(found)
    for one in found:
        path = find_configuration(one.configuration)
        config = Config.load(path, overrides=list(one.changes))
        queries, epochs = one.cost
        assert epochs == config.training.epochs
        assert queries == 2 * BENCHMARKS[dataset_of(path).upper()].facts[0]
    seeds = {(dataset, recipe): 0 for dataset in DATASETS for recipe in RECIPES}
    for one in found:
        if not one.suffix:
            seeds[one.dataset, one.recipe] += 1
    assert seeds == {(dataset, recipe): commands.SEEDS[dataset] for dataset, recipe in seeds}
