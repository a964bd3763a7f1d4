"""The models by name: those of titer, registered ones, and those of installed packages."""

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, TypeVar

from titer.errors import PluginError, UnknownNameError
from titer.suggestions import suggest

if TYPE_CHECKING:
    from titer.models.base import Model

Class = TypeVar("Class", bound="type[Model]")

BUILT_IN = {
    "cygnet": "titer.models.cygnet",
    "de_simple": "titer.models.de_simple",
    "path_mixture": "titer.models.path_mixture.model",
    "random_walk": "titer.models.random_walk",
    "re_gcn": "titer.models.re_gcn.model",
    "recurrency": "titer.models.recurrency",
    "renet": "titer.models.renet.model",
    "ta_distmult": "titer.models.ta_distmult",
    "tango_distmult": "titer.models.tango.model",
    "tango_tucker": "titer.models.tango.model",
    "tirgn": "titer.models.tirgn.model",
    "titer": "titer.models.titer.model",
    "tlogic": "titer.models.tlogic.model",
    "tntcomplex": "titer.models.tntcomplex",
    "ttranse": "titer.models.ttranse",
    "xerte": "titer.models.xerte.model",
}
"""Module of each built-in model by name. A module is imported when its model is first used."""

PLUGINS = "titer.models"
"""Entry-point group in which an installed package declares its models."""

MAX_SUGGESTIONS = 3

_classes: dict[str, "type[Model]"] = {}


def register(cls: Class) -> Class:
    """Register a model class under its ``name``. Used as a class decorator.

    Args:
        cls: A subclass of ``Model`` whose ``name`` is set. Registering the same class again replaces it, as happens
            when a module is reloaded or a notebook cell is run twice.

    Returns:
        The class itself.

    Raises:
        ValueError: Another class is registered under this name.
    """
    known = _classes.setdefault(cls.name, cls)
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"the model name {cls.name!r} already belongs to {known.__qualname__}")
    _classes[cls.name] = cls
    return cls


def model_names() -> list[str]:
    """Return the sorted names of all available models: built-in, registered and of installed packages."""
    return sorted({*BUILT_IN, *_classes, *(point.name for point in entry_points(group=PLUGINS))})


def model_class(name: str) -> "type[Model]":
    """Return the model class of a name, and import its module if necessary.

    Args:
        name: The name of a model, one of ``model_names()``.

    Returns:
        The subclass of ``Model``.

    Raises:
        UnknownNameError: No model has this name.
        PluginError: An installed package declares this model, but it cannot be used.
    """
    if name not in _classes:
        if name in BUILT_IN:
            import_module(BUILT_IN[name])
        elif found := entry_points(group=PLUGINS, name=name):
            register(_load(next(iter(found))))
        else:
            names = model_names()
            close = suggest(name, names, MAX_SUGGESTIONS)
            others = "" if close else f"; choose from {', '.join(names)}"
            raise UnknownNameError(f"unknown model {name!r}{others}", close)
    return _classes[name]


def _load(point: EntryPoint) -> "type[Model]":
    """Return the model class of an entry point.

    Raises:
        PluginError: It cannot be imported, or is not a complete model of that name.
    """
    from titer.models.base import Model

    try:
        cls = point.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise PluginError(f"the model {point.name!r} cannot be loaded from {point.value}: {reason}") from error
    if not (isinstance(cls, type) and issubclass(cls, Model)):
        raise PluginError(f"{point.value} is not a subclass of titer.Model")
    if getattr(cls, "name", None) != point.name:
        raise PluginError(f"{point.value} must set name = {point.name!r}, the name of its entry point")
    if cls.__abstractmethods__:
        raise PluginError(f"{point.value} does not implement {', '.join(sorted(cls.__abstractmethods__))}")
    return cls
