"""Which name belongs to which model."""

from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, TypeVar

from titer.errors import PluginError, UnknownNameError

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
            register(_load(next(iter(found))))
        else:
            names = model_names()
            message = f"there is no model {name!r}; there are {', '.join(names)}"
            raise UnknownNameError(message, get_close_matches(name, names, 3))
    return _classes[name]


def _load(point: EntryPoint) -> "type[Model]":
    """The model behind an entry point, or what its author has to mend."""
    from titer.models.base import Model

    try:
        cls = point.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise PluginError(f"the model {point.name!r} cannot be loaded from {point.value}: {reason}") from error
    if not (isinstance(cls, type) and issubclass(cls, Model)):
        raise PluginError(f"{point.value} is no subclass of titer.Model")
    if getattr(cls, "name", None) != point.name:
        raise PluginError(f"{point.value} needs the line name = {point.name!r}, as its entry point says")
    if cls.__abstractmethods__:
        raise PluginError(f"{point.value} lacks the method {', '.join(sorted(cls.__abstractmethods__))}")
    return cls
