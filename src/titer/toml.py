"""Write TOML; the standard library can only read it."""

import json
from collections.abc import Mapping
from typing import Any


def to_toml(table: Mapping[str, Any]) -> str:
    """Return nested dictionaries of plain values as TOML. ``None`` is left out, since TOML has no such value."""
    return "\n".join(_lines(table, ())).strip() + "\n"


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    present = {key: value for key, value in table.items() if value is not None}
    lines = [f"{_key(k)} = {_value(v)}" for k, v in present.items() if not isinstance(v, Mapping)]
    for key, value in present.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{'.'.join(_key(k) for k in (*path, key))}]", *_lines(value, (*path, key))]
    return lines


def _key(key: str) -> str:
    plain = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if plain else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        # A TOML basic string is a JSON string, except for DEL, which JSON does not escape.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    raise TypeError(f"TOML cannot represent {type(value).__name__}")
