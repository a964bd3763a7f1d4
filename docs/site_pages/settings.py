"""Tables of settings, generated from configuration dataclasses."""

from dataclasses import MISSING, Field, fields
from typing import Any

from site_pages.markup import code, table
from titer.training.setting_list import field_descriptions


def settings_table(config: type) -> str:
    """Return a table of the fields of a configuration class: name, type, default and description."""
    descriptions = field_descriptions(config)
    rows = [
        [code(field.name), code(_type_name(field)), code(_default(field)), descriptions.get(field.name, "")]
        for field in fields(config)
    ]
    return table(["setting", "type", "default", "description"], rows)


def _type_name(field: Field[Any]) -> str:
    return field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))


def _default(field: Field[Any]) -> str:
    if field.default is not MISSING:
        return repr(field.default)
    return repr(field.default_factory()) if field.default_factory is not MISSING else ""
