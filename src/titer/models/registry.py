"""Which name belongs to which model."""

from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, TypeVar

from titer.errors import UnknownNameError

if TYPE_CHECKING:
    from titer.models.base import Model

Class = TypeVar("Class", bound="type[Model]")

BUILT_IN = {
    "cygnet": "titer.models.cygnet",
    "de_simple": "titer.models.de_simple",
    "path_mixture": "titer.models.path_mixture.model",
    "random_walk": "titer.models.random_walk",
    "recurrency": "titer.models.recurrency",
    "renet": "titer.models.renet.model",
    "ta_distmult": "titer.models.ta_distmult",
    "tango_distmult": "titer.models.tango.model",
    "tango_tucker": "titer.models.tango.model",
    "titer": "titer.models.titer.model",
    "tntcomplex": "titer.models.tntcomplex",
    "ttranse": "titer.models.ttranse",
    "xerte": "titer.models.xerte.model",
}
"""Name to module. A module is imported when its model is first asked for."""

PLUGINS = "titer.models"
"""Entry-point group through which an installed package brings models of its own."""

_classes: dict[str, "type[Model]"] = {}


def register(cls: Class) -> Class:
    """Class decorator: make a model known by its ``name``."""
    known = _classes.setdefault(cls.name, cls)
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"the name {cls.name!r} already belongs to {known.__qualname__}")
    _classes[cls.name] = cls
    return cls


def model_names() -> list[str]:
    """The names of all models that can be trained."""
    return sorted({*BUILT_IN, *_classes, *(point.name for point in entry_points(group=PLUGINS))})


def model_class(name: str) -> "type[Model]":
    """The model of that name."""
    if name not in _classes:
        if name in BUILT_IN:
            import_module(BUILT_IN[name])
        elif found := entry_points(group=PLUGINS, name=name):
            register(next(iter(found)).load())
        else:
            names = model_names()
            message = f"there is no model {name!r}; there are {', '.join(names)}"
            raise UnknownNameError(message, get_close_matches(name, names, 3))
    return _classes[name]
