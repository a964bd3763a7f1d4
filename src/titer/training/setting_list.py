"""The settings of a model and of training, with meaning, default and range."""

import ast
import inspect
import re
import textwrap
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from types import MappingProxyType
from typing import Any, get_args

from titer.errors import ConfigError
from titer.models.registry import model_class
from titer.training.config import TrainingConfig

PROBES: dict[str, tuple[Any, ...]] = {
    "int": (-1, 0, 1, 2, 2**40),
    "float": (-1.0, 0.0, 0.5, 1.0, 2.0, 1e12),
    "str": ("\0",),
}
"""Values by type that a setting may reject, saying which values it accepts."""

NAMES = {"int": "whole number", "float": "number", "str": "text"}
"""What types are called in the list."""


@dataclass(frozen=True)
class SettingInfo:
    """One setting.

    Attributes:
        name: Its full name, such as ``training.epochs``, as ``--set`` takes it.
        default: Its default value for the model.
        range: The accepted values, in words.
        description: What it means.
    """

    name: str
    default: Any
    range: str
    description: str


def settings_of(model: str) -> list[SettingInfo]:
    """Return all settings of a model and of its training.

    Args:
        model: The name of the model.

    Raises:
        UnknownNameError: If there is no such model.
    """
    kind = model_class(model)
    training = _settings(TrainingConfig, "training", kind.training_defaults({}), kind.training_notes)
    return [*_settings(kind.Config, "model", {}), *training]


def field_descriptions(config: type) -> dict[str, str]:
    """Return the string below each field of a dataclass, those of its base classes included.

    Args:
        config: The dataclass.
    """
    found: dict[str, str] = {}
    for cls in reversed(config.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
        assert isinstance(body, ast.ClassDef)
        for field, below in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
                found[field.target.id] = inspect.cleandoc(ast.literal_eval(below.value)).replace("``", "`")
    return found


def _settings(
    config: type, table: str, defaults: Mapping[str, Any], notes: Mapping[str, str] = MappingProxyType({})
) -> list[SettingInfo]:
    descriptions = field_descriptions(config)
    return [
        SettingInfo(
            f"{table}.{field.name}",
            defaults.get(field.name, _default(field)),
            _range(config, field, table),
            " ".join([*descriptions.get(field.name, "").split(), *notes.get(field.name, "").split()]),
        )
        for field in fields(config)
    ]


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default


def _range(config: type, field: Field[Any], table: str) -> str:
    """Return what the errors of a setting say about the values that it accepts."""
    kind = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))
    if kind == "bool":
        return "true or false"
    clauses: list[str] = []
    for probe in PROBES.get(kind, ()):
        try:
            config(**{field.name: probe})
        except ConfigError as error:
            # Other settings may reject the probe too; only what is said about this one counts.
            if said := re.match(rf"{table}\.{field.name} must (?:be )?(.*), not ", str(error), re.DOTALL):
                clauses.append(said[1])
    if kind == "tuple":
        return f"list of {NAMES[get_args(field.type)[0].__name__]}s"
    return " and ".join(dict.fromkeys(clauses)) or NAMES.get(kind, kind)
