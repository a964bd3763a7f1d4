"""Pictures of a search: the course of its trials, and what mattered."""

from itertools import accumulate
from pathlib import Path

from titer.drawing.charts import Panel, grouped_bars, panel_chart, svg_file
from titer.files import write_text
from titer.tuning.tune import SearchResult


def draw_search(result: SearchResult, title: str, path: Path) -> list[Path]:
    """Draw the MRR of all trials and the best so far, and the importance of settings.

    Args:
        result: The state of the search.
        title: The heading of the pictures.
        path: The SVG file of the trials; the other file has ``-importance`` in its name.

    Returns:
        The files that were written.
    """
    points = [(number, 100 * value) for number, value in sorted(result.trials.items()) if value is not None]
    complete = [(number, value) for number, value in points if number not in result.stopped]
    best = list(zip((n for n, _ in complete), accumulate((value for _, value in complete), max), strict=True))
    panels = [
        Panel("MRR × 100 on the validation split, each trial", points, "first"),
        Panel("best completed trial so far", best, "second"),
    ]
    write_text(path, svg_file(panel_chart(title, "trial", panels)))
    if not result.importance:
        return [path]
    other = path.with_name(f"{path.stem}-importance{path.suffix}")
    bars = grouped_bars(
        f"{title}: importance of settings",
        list(result.importance),
        {"importance in %": [100 * share for share in result.importance.values()]},
    )
    write_text(other, svg_file(bars))
    return [path, other]
