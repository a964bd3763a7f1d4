"""The command ``titer models``."""

from titer.cli.options import JsonOption
from titer.cli.screen import note, say_json, say_table
from titer.errors import PluginError

EXAMPLES = ("titer models --json",)


def models(json: JsonOption = False) -> None:
    """List the models that can be trained, including those of installed packages."""
    from titer.models.registry import model_class, model_names
    from titer.runs.reproduce import configurations

    published = [name.split("/") for name in configurations()]
    rows = []
    for name in model_names():
        try:
            description = _first_line(model_class(name).__doc__)
        except PluginError as error:
            note(f"note: {error}")
            continue
        datasets = [dataset for model, dataset in published if model == name]
        rows.append({"model": name, "description": description, "configurations": datasets})
    if json:
        say_json(rows)
        return
    shown = [[row["model"], row["description"], ", ".join(row["configurations"]) or "–"] for row in rows]
    say_table(["model", "description", "configurations"], shown, numbers_from=3)


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]
