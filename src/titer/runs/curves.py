"""Training curves of a run as an SVG file."""

from pathlib import Path

from titer.drawing.charts import Panel, panel_chart, svg_file
from titer.errors import RunError, TiterError
from titer.files import write_text
from titer.runs.run import Run


def draw_curves(run: Run, path: Path) -> None:
    """Draw the loss or reward, and the MRR on the validation split, by epoch.

    Args:
        run: The run.
        path: The SVG file to write.

    Raises:
        RunError: If the run has no epochs, as for models without parameters.
        TiterError: If the file name does not end in ``.svg``.
    """
    if path.suffix.lower() != ".svg":
        raise TiterError(f"{path}: training curves are SVG files; choose a name that ends in .svg")
    rows = [row for row in run.log_rows if "epoch" in row]
    if not rows:
        raise RunError(f"{run.path} has no training curves: its training has no epochs")
    quantity = "reward" if "reward" in rows[0] else "loss"
    panels = [Panel(quantity, [(row["epoch"], row[quantity]) for row in rows], "first")]
    validated = [(row["epoch"], 100 * row["valid_mrr"]) for row in rows if "valid_mrr" in row]
    if validated:
        panels.append(Panel("MRR × 100 on the validation split", validated, "second"))
    write_text(path, svg_file(panel_chart(f"{run.config.model_name} on {run.dataset.name}", "epoch", panels)))
