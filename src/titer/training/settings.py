"""Settings dataclasses from TOML tables, with errors that name the wrong setting."""

import math
import tomllib
from dataclasses import fields
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from titer.errors import ConfigError, did_you_mean
from titer.suggestions import suggest

Settings = TypeVar("Settings")


def read_toml(file: Path) -> dict[str, Any]:
    """Read a TOML file.

    Args:
        file: The file.

    Returns:
        Its tables.

    Raises:
        ConfigError: If the file cannot be read or is not valid TOML.
    """
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{file}: no such file") from None
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror or error}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{file}: {error}") from error
    except RecursionError:
        raise ConfigError(f"{file}: brackets are nested too deeply") from None


def build(cls: type[Settings], table: dict[str, Any], name: str) -> Settings:
    """Make a settings dataclass from a TOML table.

    Args:
        cls: The dataclass.
        table: The values by field name.
        name: The name of the table, for error messages.

    Returns:
        The settings; fields that the table does not name have their defaults.

    Raises:
        ConfigError: If a key is unknown, or a value has the wrong type or is infinite or NaN.
    """
    hints = get_type_hints(cls)
    known = [f.name for f in fields(cls)]  # pyright: ignore[reportArgumentType] - no public type of dataclasses exists
    values = {}
    for key, value in table.items():
        if key not in known:
            raise unknown("setting", key, known, prefix=f"{name}.")
        try:
            values[key] = _typed(value, hints[key])
        except TypeError:
            raise ConfigError(f"{name}.{key} must be {_describe(hints[key])}, not {value!r}") from None
    return cls(**values)


def take_table(tables: dict[str, Any], name: str) -> dict[str, Any]:
    """Remove a table from a TOML document and return it; a missing one is empty."""
    table = tables.pop(name, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{name} must be a table of settings, not {table!r}")
    return table


def override(tables: dict[str, Any], change: str) -> None:
    """Apply one ``TABLE.KEY=VALUE`` override to the tables of a TOML document."""
    path, equals, written = change.partition("=")
    table, dot, key = path.strip().partition(".")
    if not (equals and dot and table and key):
        raise ConfigError(f"overrides have the form TABLE.KEY=VALUE, such as training.epochs=6, not {change!r}")
    try:
        value = tomllib.loads(f"value = {written}")["value"]
    except tomllib.TOMLDecodeError:
        value = written.strip()  # strings need no quotes
    if not isinstance(tables.setdefault(table, {}), dict):
        raise ConfigError(f"{table} must be a table of settings")
    tables[table][key] = value


def unknown(kind: str, name: str, known: list[str], prefix: str = "") -> ConfigError:
    """Return the error for an unknown name, with the most similar known one or all of them."""
    # Compared without the prefix, which all names share and which would make any of them similar.
    close = did_you_mean([prefix + each for each in suggest(name, known)])
    return ConfigError(f"unknown {kind} {prefix + name!r}" + (close or f"; choose from {', '.join(known) or 'none'}"))


def _typed(value: Any, hint: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if get_origin(hint) is tuple and isinstance(value, list | tuple):
        return tuple(_typed(item, get_args(hint)[0]) for item in value)
    if get_origin(hint) in (Union, UnionType):
        for option in get_args(hint):
            try:
                return _typed(value, option)
            except TypeError:
                continue
        raise TypeError
    if isinstance(hint, type) and isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    raise TypeError


def _describe(hint: Any) -> str:
    if get_origin(hint) is tuple:
        return f"a list of {_describe(get_args(hint)[0])}s".replace("a list of a ", "a list of ")
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}
    return names.get(hint, str(hint))
