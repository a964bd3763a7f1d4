"""The search space of one search: that of the model, without fixed settings, and with the user's own ranges."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from titer.errors import ConfigError
from titer.models.registry import model_class
from titer.models.search_space import Categorical, FloatRange, IntRange, SearchSpace
from titer.suggestions import hint
from titer.training.config import Config

if TYPE_CHECKING:
    from optuna import Trial

LOG_RATIO = 100
"""A range whose end is at least this many times its beginning is searched by its logarithm."""


def search_space(config: Config, fixed: list[str], ranges: list[str]) -> SearchSpace:
    """Return what to search: the space of the model, in which the given configuration lies.

    Args:
        config: The configuration to start from.
        fixed: Changes ``TABLE.KEY=VALUE`` of the configuration; these settings are not searched.
        ranges: Ranges ``TABLE.KEY=LOW..HIGH`` or ``TABLE.KEY=A,B,C``, which replace or add to those of the model.

    Raises:
        ConfigError: If a range is wrong, or nothing is left to search.
    """
    tables = config.to_dict()
    settings = {f"{table}.{key}": value for table, values in tables.items() for key, value in values.items()}
    space: dict[str, Any] = dict(getattr(model_class(config.model_name).Config, "SEARCH", {}))
    for key in _keys(fixed):
        space.pop(key, None)
    space |= dict(_parse(text, settings) for text in ranges)
    if not space:
        raise ConfigError(
            f"nothing to search for {config.model_name}; give a range, such as "
            "--search training.learning_rate=0.001..0.1"
        )
    return {key: values.including(settings[key]) for key, values in space.items()}


def _keys(changes: list[str]) -> list[str]:
    return [change.partition("=")[0].strip() for change in changes]


def _parse(text: str, settings: Mapping[str, Any]) -> tuple[str, Categorical | IntRange | FloatRange]:
    """Return the setting and its values of one ``--search`` option."""
    key, equals, written = (part.strip() for part in text.partition("="))
    if not equals or not written:
        raise ConfigError(f"--search must be TABLE.KEY=LOW..HIGH or TABLE.KEY=A,B,C, not {text!r}")
    if key not in settings:
        raise ConfigError(f"unknown setting {key!r}{hint(key, list(settings))}")
    ends = re.fullmatch(r"(.+?)\.\.(.+)", written)
    if not ends:
        return key, Categorical(tuple(_value(part) for part in written.split(",")))
    low, high = (_value(end) for end in ends.groups())
    if not all(isinstance(end, int | float) and not isinstance(end, bool) for end in (low, high)) or not low < high:
        raise ConfigError(f"--search {key} must have two numbers, the smaller one first, not {written!r}")
    log = low > 0 and high / low >= LOG_RATIO
    if isinstance(low, int) and isinstance(high, int) and isinstance(settings[key], int):
        return key, IntRange(low, high, log)
    return key, FloatRange(float(low), float(high), log)


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()  # strings need no quotes


def suggest(trial: "Trial", space: SearchSpace) -> dict[str, Any]:
    """Return the settings that a trial tries."""
    found: dict[str, Any] = {}
    for key, values in space.items():
        if isinstance(values, Categorical):
            found[key] = trial.suggest_categorical(key, values.options)
        elif isinstance(values, IntRange):
            found[key] = trial.suggest_int(key, values.low, values.high, log=values.log)
        else:
            found[key] = trial.suggest_float(key, values.low, values.high, log=values.log)
    return found


def with_settings(config: Config, settings: Mapping[str, Any]) -> Config:
    """Return a configuration with other values of some settings, given by their full names."""
    tables = config.to_dict()
    for key, value in settings.items():
        table, _, name = key.partition(".")
        tables[table][name] = value
    return Config.from_dict(tables)


def values_of(config: Config, keys: Iterable[str]) -> dict[str, Any]:
    """Return the values of some settings, given by their full names."""
    tables = config.to_dict()
    parts = {key: key.partition(".") for key in keys}
    return {key: tables[table][name] for key, (table, _, name) in parts.items()}
