"""Search spaces: those of the models, and those that a user gives."""

import pytest

from titer.errors import ConfigError
from titer.models.registry import BUILT_IN, model_class
from titer.models.search_space import Categorical, FloatRange, IntRange
from titer.training.config import Config
from titer.tuning.space import search_space, values_of, with_settings
from training.tiny_model import TinyModel

TINY = TinyModel.name


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_value_at_the_ends_of_a_space_is_allowed(name: str):
    config = Config.load(model=name)
    for key, values in search_space(config, [], []).items():
        ends = values.options if isinstance(values, Categorical) else (values.low, values.high)
        for value in ends:
            assert values_of(with_settings(config, {key: value}), [key]) == {key: value}
        assert not isinstance(values, IntRange | FloatRange) or values.low < values.high
        assert not isinstance(values, IntRange | FloatRange) or not values.log or values.low > 0


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_defaults_of_a_model_lie_in_its_space(name: str):
    declared = model_class(name).Config.SEARCH
    assert search_space(Config.load(model=name), [], []) == declared


def test_a_setting_that_is_set_is_not_searched():
    config = Config.load(model="cygnet", overrides=["model.dim=50"])
    space = search_space(config, ["model.dim=50"], [])
    assert "model.dim" not in space
    assert "model.dropout" in space


def test_the_space_is_extended_to_the_start():
    config = Config.load(model="cygnet", overrides=["model.dim=50", "model.dropout=0.9"])
    space = search_space(config, [], [])
    assert space["model.dim"] == Categorical((64, 128, 200, 50))
    assert space["model.dropout"] == FloatRange(0.0, 0.9)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model.dim=4..8", IntRange(4, 16)),
        ("model.dim=1..100", IntRange(1, 100, log=True)),
        ("model.dim=4,16,64", Categorical((4, 16, 64))),
        ("training.weight_decay=0..1", FloatRange(0.0, 1.0)),
        ("training.learning_rate = 1e-4..0.1", FloatRange(1e-4, 0.1, log=True)),
        ("training.learning_rate_schedule=linear,constant", Categorical(("linear", "constant"))),
        ("training.keep=best", Categorical(("best",))),
    ],
)
def test_ranges_of_the_user(text: str, expected: object):
    config = Config.load(model=TINY)
    assert list(search_space(config, [], [text]).values()) == [expected]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model.dim", "must be TABLE.KEY=LOW..HIGH"),
        ("model.dims=1..2", "unknown setting 'model.dims'; did you mean 'model.dim'"),
        ("model.dim=8..4", "the smaller one first"),
        ("model.dim=a..b", "two numbers"),
    ],
)
def test_a_wrong_range_is_an_error_that_says_what_to_do(text: str, message: str):
    with pytest.raises(ConfigError, match=message):
        search_space(Config.load(model=TINY), [], [text])


def test_a_model_without_a_space_needs_ranges():
    with pytest.raises(ConfigError, match="nothing to search for tiny; give a range"):
        search_space(Config.load(model=TINY), [], [])
