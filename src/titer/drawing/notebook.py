"""Results as HTML for notebooks."""

from importlib.resources import files
from xml.etree.ElementTree import Element, tostring

from titer.drawing.elements import Child, el


def notebook_html(*parts: Child) -> str:
    """Return the HTML of a result, with the style that all results share.

    Args:
        parts: The content, in order.
    """
    style = files("titer.drawing").joinpath("notebook.css").read_text(encoding="utf-8")
    return tostring(el("div", el("style", style), *parts, class_="titer-result"), encoding="unicode", method="html")


def bar(share: float) -> Element:
    """Return a horizontal bar.

    Args:
        share: The filled share of its length, between 0 and 1.
    """
    return el("div", el("div", style=f"width: {100 * share:.1f}%"), class_="bar")


def evidence_list(lines: list[tuple[float, str]]) -> Element:
    """Return a list of evidence.

    Args:
        lines: The share and the words of each piece.
    """
    return el("ul", *(el("li", f"{share:.0%}: {words}") for share, words in lines))
