"""Training curves as a picture."""

from pathlib import Path
from typing import Any

from titer.errors import RunError, TiterError
from titer.files import atomic_path
from titer.runs.run import Run


def draw_curves(run: Run, path: Path) -> None:
    """Draw reward (or loss) and validation MRR over epochs; the format follows from the file's ending."""
    rows = [row for row in run.log_rows if "epoch" in row]
    if not rows:
        raise RunError(f"{run.path} has no training curves: a {run.config.model_name} run has no epochs")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise TiterError("pictures need matplotlib: pip install 'titer[plot]'") from None
    quantity = "reward" if "reward" in rows[0] else "loss"
    figure = Figure(figsize=(7, 4), layout="constrained")
    left = figure.subplots()
    _line(left, rows, quantity, "tab:blue", quantity)
    left.set_xlabel("epoch")
    measured = [row for row in rows if "valid_mrr" in row]
    if measured:
        right = left.twinx()
        points = [{**row, "valid_mrr": 100 * row["valid_mrr"]} for row in measured]
        _line(right, points, "valid_mrr", "tab:orange", "MRR × 100 on valid")
    left.set_title(f"{run.config.model_name} on {run.dataset.name}")
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise TiterError(f"{path}: pictures are .png, .svg or .pdf files")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:].lower(), dpi=150)


def _line(axes: Any, rows: list[dict[str, Any]], key: str, colour: str, label: str) -> None:
    axes.plot([row["epoch"] for row in rows], [row[key] for row in rows], color=colour)
    axes.set_ylabel(label, color=colour)
    axes.tick_params(axis="y", labelcolor=colour)
