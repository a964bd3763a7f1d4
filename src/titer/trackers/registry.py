"""The trackers by name: those of titer, and those of installed packages."""

from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points

from titer.errors import MissingPackageError, PluginError, UnknownNameError
from titer.suggestions import suggest
from titer.trackers.base import Tracker

BUILT_IN = {
    "mlflow": ("titer.trackers.mlflow", "MLflowTracker"),
    "tensorboard": ("titer.trackers.tensorboard", "TensorBoardTracker"),
    "wandb": ("titer.trackers.wandb", "WandbTracker"),
}
"""Module and class of each built-in tracker by name. A module is imported when its tracker is first used."""

PLUGINS = "titer.trackers"
"""Entry-point group in which an installed package declares its trackers."""


def tracker_names() -> list[str]:
    """Return the sorted names of all available trackers: built-in and of installed packages."""
    return sorted({*BUILT_IN, *(point.name for point in entry_points(group=PLUGINS))})


def make_tracker(name: str) -> Tracker:
    """Return a new tracker.

    Args:
        name: The name of a tracker, one of ``tracker_names()``.

    Returns:
        The tracker, not started.

    Raises:
        MissingPackageError: The library of the tracker is not installed.
        UnknownNameError: No tracker has this name.
        PluginError: An installed package declares this tracker, but it cannot be used.
    """
    if name in BUILT_IN:
        module, made = BUILT_IN[name]
        return getattr(import_module(module), made)()
    found = next(iter(entry_points(group=PLUGINS, name=name)), None)
    if found is None:
        known = tracker_names()
        raise UnknownNameError(f"unknown tracker {name!r}; choose from {', '.join(known)}", suggest(name, known, 1))
    try:
        tracker = found.load()()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise PluginError(f"the tracker {name!r} cannot be loaded from {found.value}: {reason}") from error
    if not isinstance(tracker, Tracker):
        raise PluginError(f"{found.value} is not a subclass of titer.Tracker")
    return tracker


def make_trackers(names: Iterable[str] = ()) -> dict[str, Tracker]:
    """Return the trackers of a training by name: the named ones, and TensorBoard if it is installed.

    Args:
        names: The names of trackers.

    Raises:
        TiterError: As for ``make_tracker``.
    """
    trackers = {name: make_tracker(name) for name in names}
    if "tensorboard" not in trackers:
        with suppress(MissingPackageError):
            trackers["tensorboard"] = make_tracker("tensorboard")
    return trackers
