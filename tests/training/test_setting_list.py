"""The list of settings says what the settings accept."""

import json

import pytest

from commands import titer
from titer.errors import ConfigError, UnknownNameError
from titer.models.registry import BUILT_IN
from titer.training.config import Config
from titer.training.setting_list import settings_of


@pytest.mark.parametrize("model", BUILT_IN)
def test_every_setting_has_a_meaning_and_its_default(model: str):
    found = settings_of(model)
    tables = Config.from_dict({}, model).to_dict()
    tables["model"].pop("name")
    assert {one.name: one.default for one in found} == {
        f"{table}.{key}": value for table, settings in tables.items() for key, value in settings.items()
    }
    for one in found:
        assert one.description, one.name
        assert one.range, one.name


OUTSIDE = {
    "at least 1": "0",
    "positive": "0",
    "at least 0": "-1",
    "between 0 and 1": "1.5",
    "at least 0 and below 1": "1.0",
    "true or false": "2",
}


@pytest.mark.parametrize("model", ["path_mixture", "titer", "tlogic"])
def test_values_outside_of_the_range_are_rejected(model: str):
    checked = 0
    for one in settings_of(model):
        outside = "nothing" if one.range.startswith("one of") else OUTSIDE.get(one.range)
        if outside is not None:
            checked += 1
            with pytest.raises(ConfigError, match=one.name):
                Config.load(model=model, overrides=[f"{one.name}={outside}"])
    assert checked > 10


def test_the_range_of_a_choice_names_the_choices():
    (schedule,) = (one for one in settings_of("titer") if one.name == "training.learning_rate_schedule")
    assert schedule.range == "one of constant, linear, triangle"
    (seed,) = (one for one in settings_of("titer") if one.name == "training.seed")
    assert seed.range == "at least 0 and at most 2147483647"


def test_the_range_of_a_list_names_its_values():
    (lengths,) = (one for one in settings_of("tlogic") if one.name == "model.rule_lengths")
    assert lengths.range == "list of whole numbers"


def test_the_command_lists_settings():
    shown = titer("settings", "recurrency")
    assert "\nmodel.shrinkage = 100.0  (at least 0)\n    Strength of the pull" in shown
    rows = json.loads(titer("settings", "recurrency", "--json"))
    assert {"name", "default", "range", "description"} == set(rows[0])
    with pytest.raises(UnknownNameError):
        titer("settings", "recurrence")
