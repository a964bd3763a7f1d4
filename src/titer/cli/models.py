"""``titer models``."""

from titer.cli.options import JsonOption
from titer.cli.screen import note, say_json, say_table
from titer.errors import PluginError


def models(json: JsonOption = False) -> None:
    """List the models that can be trained, those of installed packages included."""
    from titer.models.registry import model_class, model_names
    from titer.runs.reproduce import configurations

    published = [name.split("/") for name in configurations()]
    rows = []
    for name in model_names():
        try:
            told = _first_line(model_class(name).__doc__)
        except PluginError as error:
            note(f"note: {error}")
            continue
        datasets = [dataset for model, dataset in published if model == name]
        rows.append({"model": name, "what it is": told, "published for": datasets})
    if json:
        say_json(rows)
        return
    shown = [[row["model"], row["what it is"], ", ".join(row["published for"]) or "–"] for row in rows]
    say_table(["model", "what it is", "published for"], shown, numbers_from=3)


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]
