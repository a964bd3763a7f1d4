"""The settings in which configurations differ."""

from collections.abc import Sequence
from typing import Any

IRRELEVANT = {"training.seed", "model.seed", "training.device", "training.cuda_graph"}
"""Settings that say nothing about a method: runs that differ in them alone are repetitions."""


def flat(tables: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the tables of a configuration by full name, such as ``training.epochs``."""
    # Configurations come from memory and from JSON, which has lists instead of tuples.
    return {
        f"{table}.{key}": list(value) if isinstance(value, tuple) else value
        for table, settings in tables.items()
        for key, value in settings.items()
    }


def differing(configurations: Sequence[dict[str, Any]]) -> list[str]:
    """Return the full names of the settings that do not have the same value in all configurations.

    Args:
        configurations: Tables as ``Config.to_dict`` returns them.
    """
    settings = [flat(one) for one in configurations]
    names = dict.fromkeys(name for one in settings for name in one)
    return [name for name in names if any(one.get(name) != settings[0].get(name) for one in settings)]


def differences(found: dict[str, Any], wanted: dict[str, Any]) -> str:
    """Say in which settings two configurations differ, such as "training.epochs is 3, not 5"."""
    left, right = flat(found), flat(wanted)
    return ", ".join(f"{name} is {left.get(name)}, not {right.get(name)}" for name in differing([found, wanted]))
