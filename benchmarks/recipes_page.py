"""Render the results of TITer's recipes into ``docs/recipes.md``.

    python benchmarks/recipes_page.py

The tables between the markers ``<!-- NAME -->`` and ``<!-- end of NAME -->`` are replaced. Every number comes from a
file in ``benchmarks/results`` or from ``benchmarks/case_study.json``, or is a figure of the paper. A result counts only
if its configuration is the one that ``benchmarks/recipes.py`` has for its label.
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import case_study
import recipes
from titer.evaluation.comparison import cell
from titer.evaluation.published import METRICS
from titer.runs.reproduce import find_configuration
from titer.training.config import Config

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "recipes.md"
NAMES = {"icews14": "ICEWS14", "icews18": "ICEWS18", "wiki": "WIKI", "yago": "YAGO"}
CONVENTION = "paper"
START = "titer/icews14-paper"
"""The label at which the walk begins."""
ROBUSTNESS = {
    "icews14": ("41.75 ± 0.21", "32.75 ± 0.12", "46.46 ± 0.09", "58.44 ± 0.05"),
    "icews18": ("29.98 ± 0.15", "22.05 ± 0.07", "33.46 ± 0.06", "44.83 ± 0.03"),
    "wiki": ("75.50 ± 0.22", "72.96 ± 0.18", "77.46 ± 0.09", "79.02 ± 0.04"),
    "yago": ("87.47 ± 0.08", "84.89 ± 0.07", "89.96 ± 0.03", "90.27 ± 0.04"),
}
"""Table 9 of the paper: mean and standard deviation of five runs."""
ABLATION = {
    "neither": ("29.13", "20.73", "32.74", "45.04"),
    "no-weights": ("29.25", "20.84", "32.83", "45.06"),
    "no-shaping": ("29.17", "21.00", "32.72", "44.51"),
    "": ("29.98", "22.05", "33.46", "44.83"),
}
"""Table 5 of the paper, on ICEWS18."""
ABLATED = {
    "neither": "without both",
    "no-weights": "without weighted scoring (β = 0.5)",
    "no-shaping": "without reward shaping",
    "": "TITer",
}
HITS_GAIN = {"icews18": 13.19, "wiki": 18.51}
"""Gain of Hits@1 by the relative time encoding in the text of the paper, in percent."""

Found = dict[str, list[dict[str, float]]]


def load(folder: Path = HERE / "results") -> Found:
    """Return the metrics of all trainings of ``recipes.py`` by label, ordered by seed."""
    found: Found = {}
    for training in recipes.trainings():
        path = folder / f"{training.label.replace('/', '-')}-seed{training.seed}.json"
        if path.is_file():
            row = json.loads(path.read_text(encoding="utf-8"))
            if Config.from_dict(row["config"]) == expected(training):
                found.setdefault(training.label, []).append(row["conventions"][CONVENTION])
    return found


def expected(training: recipes.Training) -> Config:
    """Return the configuration of a training."""
    changes = [*training.changes, f"training.seed={training.seed}"]
    return Config.load(find_configuration(training.configuration), overrides=changes)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    return ["| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *rows)]


def metrics(found: Found, label: str) -> list[str]:
    """Return all metrics of a label times a hundred, and the number of seeds."""
    rows = found.get(label, [])
    return [*(cell([100 * row[metric] for row in rows]) for metric in METRICS), str(len(rows))]


def recipes_table(found: Found) -> list[str]:
    """Return every recipe on every dataset beside the paper."""
    lines: list[list[str]] = []
    for dataset, name in NAMES.items():
        lines.append([name, "paper, published", *ROBUSTNESS[dataset], "5"])
        for recipe in ("paper", "released", "tuned"):
            label = recipes.Training(dataset, recipe, 0).label
            lines.append(["", f"`{recipe}`", *metrics(found, label)])
    return table(["", "", *METRICS.values(), "seeds"], lines)


def walk_table(found: Found) -> list[str]:
    """Return the walk from ``paper`` to ``tuned``: MRR after every change, and what the change is worth."""
    steps = [("`paper`", START)]
    for training, (name, changes) in zip(recipes.walk(0), recipes.WALK, strict=False):
        text = f"{name.replace('-', ' ')}: " + ", ".join(f"`{change}`" for change in changes)
        steps.append((text, training.label))
    last, changes = recipes.WALK[-1]
    steps.append((f"{last}: " + ", ".join(f"`{change}`" for change in changes) + ", which is `tuned`", "titer/icews14"))
    lines, before = [], None
    for number, (text, label) in enumerate(steps):
        values = [100 * row["mrr"] for row in found.get(label, [])[:3]]
        now = mean(values) if values else None
        change = f"{now - before:+.2f}" if now is not None and before is not None else "–"
        lines.append([str(number), text, cell(values), change])
        before = now
    alone = cell([100 * row["mrr"] for row in found.get(f"{START}-moving-average", [])])
    lines.insert(2, ["", "step 1 with the moving average alone: `model.baseline=moving_average`", alone, ""])
    return table(["", "change", "MRR", "difference"], lines)


def ablation_table(found: Found) -> list[str]:
    """Return Table 5 of the paper beside both recipes that reproduce it."""
    lines = []
    for key, name in ABLATED.items():
        suffix = f"-{key}" if key else ""
        lines.append([name, "paper, published", *ABLATION[key], "–"])
        for recipe in ("released", "tuned"):
            lines.append(["", f"`{recipe}`", *metrics(found, recipes.Training("icews18", recipe, 0, suffix).label)])
    return table(["ICEWS18", "", *METRICS.values(), "seeds"], lines)


def time_table(found: Found) -> list[str]:
    """Return the recipe ``released`` with and without relative time, and the gain of Hits@1 beside the paper's."""
    lines = []
    for dataset, gain in HITS_GAIN.items():
        label = recipes.Training(dataset, "released", 0).label
        with_time, static = (
            [100 * row["hits_at_1"] for row in found.get(name, [])] for name in (label, f"{label}-static")
        )
        ours = f"{100 * (mean(with_time) / mean(static) - 1):+.2f} %" if with_time and static else "–"
        lines.append([NAMES[dataset], "`released`", *metrics(found, label), ours, f"{gain:+.2f} %"])
        lines.append(["", "without relative time", *metrics(found, f"{label}-static"), "", ""])
    return table(["", "", *METRICS.values(), "seeds", "gain of Hits@1", "in the paper"], lines)


def case_table(path: Path = case_study.RESULT) -> list[str]:
    """Return Table 4 of the paper beside our paths, with π and β of every hop."""
    ours: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cases"] if path.is_file() else []
    lines = []
    for number, case in enumerate(case_study.CASES):
        row = ours[number] if ours else {"unseen": [], "rank": None, "paths": [], "path_of_the_paper": None}
        daggers = {name: f"{name} †" for name in row["unseen"]}
        subject, answer = (daggers.get(name, name) for name in (case.subject, case.object))
        query = f"{subject}, {case.relation}, {answer}, {case.time}"
        theirs = "; ".join(
            f"{hop.subject}, {hop.relation}, {hop.object}, {hop.time}"
            + (f" (printed as {hop.printed})" if hop.printed else "")
            for hop in case.path
        )
        same = row["path_of_the_paper"]
        place = f"{same['place']}: {_hops(same)}" if same else "–"
        lines.append(
            [
                query,
                theirs,
                "–" if case.beta is None else f"{case.beta:.2f}",
                str(row["rank"] or "–"),
                _path(row["paths"][0]) if row["paths"] else "–",
                place,
            ]
        )
    header = ["query", "path in the paper", "β", "our rank", "our strongest path", "the paper's path among ours"]
    return table(header, lines)


def _path(path: dict[str, Any]) -> str:
    facts = (f"{f['subject']}, {f['relation']}, {f['object']}, {f['time']}" for f in path["facts"])
    return f"{'; '.join(facts)} ({_hops(path)})"


def _hops(path: dict[str, Any]) -> str:
    return "; ".join(f"π {f['numbers']['probability']:.2f}, β {f['numbers']['beta']:.2f}" for f in path["facts"])


def rendered(text: str, found: Found) -> str:
    """Return the document with its tables replaced."""
    parts = {
        "recipes": recipes_table(found),
        "walk": walk_table(found),
        "ablation": ablation_table(found),
        "time": time_table(found),
        "case study": case_table(),
    }
    for name, lines in parts.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
        inside = "\n".join(["", *lines, "", ""])  # a table begins and ends with an empty line
        text, count = pattern.subn(lambda match, inside=inside: f"{match[1]}{inside}{match[2]}", text)
        if count != 1:
            raise SystemExit(f"{PAGE} must have the markers of {name!r} once, not {count} times")
    return text


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8"), load()), encoding="utf-8")
