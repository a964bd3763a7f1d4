"""Tables of settings, generated from configuration dataclasses."""

import ast
import inspect
import textwrap
from dataclasses import MISSING, Field, fields
from typing import Any

from site_pages.markup import code, table


def settings_table(config: type) -> str:
    """Return a table of the fields of a configuration class: name, type, default and description."""
    descriptions = field_descriptions(config)
    rows = [
        [code(field.name), code(_type_name(field)), code(_default(field)), descriptions.get(field.name, "")]
        for field in fields(config)
    ]
    return table(["setting", "type", "default", "description"], rows)


def field_descriptions(config: type) -> dict[str, str]:
    """Return the string below each field of a dataclass, those of its base classes included."""
    found: dict[str, str] = {}
    for cls in reversed(config.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
        assert isinstance(body, ast.ClassDef)
        for field, below in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
                text = ast.literal_eval(below.value)
                found[field.target.id] = inspect.cleandoc(text).replace("``", "`")
    return found


def _type_name(field: Field[Any]) -> str:
    return field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))


def _default(field: Field[Any]) -> str:
    if field.default is not MISSING:
        return repr(field.default)
    return repr(field.default_factory()) if field.default_factory is not MISSING else ""
