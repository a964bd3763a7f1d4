"""One page for each model: its docstring, settings and results."""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from site_pages.markup import code, table
from site_pages.settings import settings_table
from titer.data.benchmarks import BENCHMARKS
from titer.models.registry import BUILT_IN, model_class

METRICS = {"mrr": "MRR", "hits_at_1": "Hits@1", "hits_at_3": "Hits@3", "hits_at_10": "Hits@10"}
RECIPES = {"": "", "-released": ", recipe `released`", "-paper": ", recipe `paper`"}
"""How labels of results end, and what this says about them."""

Results = dict[str, list[dict[str, Any]]]
"""The published results of every label, such as ``titer/icews14``, one for each seed."""


def pages(results_folder: Path) -> dict[str, str]:
    """Return a page for each built-in model, by its name."""
    results = load_results(results_folder)
    return {name: page(name, results) for name in BUILT_IN}


def page(name: str, results: Results) -> str:
    """Return the page about one model."""
    model = model_class(name)
    parts = [
        f"# {name}",
        _docstring(model),
        *(text for base in _described_bases(model) for text in (f"## {base.__name__}", _docstring(base))),
        *_settings(name, model.Config, model.training_settings, model.training_notes),
        *_results(name, results),
    ]
    return "\n\n".join(parts)


def _docstring(model: type) -> str:
    """Return the docstring of a class, without its members."""
    return (
        f"::: {model.__module__}.{model.__qualname__}\n"
        "    options:\n"
        "      show_root_heading: false\n"
        "      show_root_toc_entry: false\n"
        "      show_bases: false\n"
        "      show_source: false\n"
        "      members: false"
    )


def _described_bases(model: type) -> list[type]:
    """Return the base classes that have a formula of their own, such as ``TANGO``."""
    return [base for base in model.__mro__[1:] if "Formula:" in (base.__doc__ or "")]


def load_results(folder: Path) -> Results:
    """Read all published results."""
    results: Results = defaultdict(list)
    for path in sorted(folder.glob("*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        results[result["label"]].append(result)
    return dict(results)


def _settings(name: str, config: type, training: Mapping[str, Any], notes: Mapping[str, str]) -> list[str]:
    parts = ["## Settings"]
    command = f"`titer train DATASET --model {name} --set model.SETTING=VALUE`"
    rows = settings_table(config)
    if rows.count("\n") > 1:
        parts += [f"On the command line: {command}. In Python: `titer.train(dataset, {name!r}, SETTING=VALUE)`.", rows]
    else:
        parts += ["This model has no settings of its own."]
    if training:
        settings = table(
            ["setting", "value"], ([code(f"training.{key}"), code(str(training[key]))] for key in training)
        )
        parts += ["Training settings of this model where a configuration gives none:", settings]
        parts += [f"{code(f'training.{key}')}: {note}" for key, note in notes.items()]
    return parts


def _results(name: str, results: Results) -> list[str]:
    found = {
        f"{dataset}{words}": results.get(f"{name}/{dataset.lower()}{ending}", [])
        for dataset in BENCHMARKS
        for ending, words in RECIPES.items()
    }
    rows = [
        [dataset, *_metrics(of_one), str(len(of_one)), _command(of_one)] for dataset, of_one in found.items() if of_one
    ]
    if not rows:
        return []
    intro = (
        "Test split, convention `realistic` ([Evaluation protocol](../evaluation.md)), × 100, mean and standard "
        "deviation over seeds. [Results](../results/index.md) compares all models."
    )
    return ["## Results", intro, table(["dataset", *METRICS.values(), "seeds", "command"], rows)]


def _metrics(results: list[dict[str, Any]]) -> list[str]:
    return [_cell([result["metrics"][key] for result in results]) for key in METRICS]


def _cell(values: list[float]) -> str:
    spread = f" ± {100 * stdev(values):.2f}" if len(values) > 1 else ""
    return f"{100 * mean(values):.2f}{spread}"


def _command(results: list[dict[str, Any]]) -> str:
    return code(results[0]["command"].partition(" --seed")[0])
