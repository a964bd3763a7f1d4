"""The Python API reference: every public name, grouped by the package that defines it."""

import titer

GROUPS = {
    "Training and runs": ("titer.api", "titer.runs", "titer.training", "titer.trackers"),
    "Forecasts": ("titer.forecasting", "titer.events"),
    "Datasets": ("titer.data",),
    "Added facts": ("titer.store",),
    "Evaluation": ("titer.evaluation", "titer.graph.filters"),
    "Models": ("titer.models",),
    "History and queries": ("titer.graph",),
    "Errors": ("titer.errors",),
}
"""Title of each group, with the modules whose public names it shows; the first that fits is taken."""


def page() -> str:
    """Return the page "Python API"."""
    groups = grouped_names()
    parts = [
        "# Python API",
        "Everything on this page can be imported from `titer`. Names that are not listed here may change at any time.",
    ]
    for title, names in groups.items():
        parts += [f"## {title}", *map(_entry, names)]
    return "\n\n".join(parts)


def grouped_names() -> dict[str, list[str]]:
    """Return the public names of each group that has any."""
    groups: dict[str, list[str]] = {title: [] for title in GROUPS}
    for name in titer.__all__:
        if name != "__version__":
            groups[_group(_path(name))].append(name)
    return {title: names for title, names in groups.items() if names}


def _group(path: str) -> str:
    return next(title for title, modules in GROUPS.items() if path.startswith(modules))


def _path(name: str) -> str:
    """Return where a public name is defined."""
    value = getattr(titer, name)
    return f"{value.__module__}.{value.__qualname__}"


def _entry(name: str) -> str:
    inherited = "\n      inherited_members: true" if _has_private_base(name) else ""
    return f"::: {_path(name)}\n    options:\n      heading: titer.{name}\n      toc_label: {name}{inherited}"


def _has_private_base(name: str) -> bool:
    """Return whether a class has methods of a class that the page does not show."""
    value = getattr(titer, name)
    bases = value.__mro__[1:] if isinstance(value, type) else ()
    return any(base.__module__.startswith("titer.") and base.__name__ not in titer.__all__ for base in bases)
