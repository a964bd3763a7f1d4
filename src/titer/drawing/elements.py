"""HTML and SVG as trees, so that no name from the data is ever read as markup."""

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, tostring

Child = Element | str


def el(tag: str, *children: Child, **attributes: object) -> Element:
    """An element; ``class_`` stands for class, and underscores for hyphens."""
    node = Element(tag, {name.rstrip("_").replace("_", "-"): str(value) for name, value in attributes.items()})
    for child in children:
        if isinstance(child, Element):
            node.append(child)
        elif len(node):
            node[-1].tail = (node[-1].tail or "") + child
        else:
            node.text = (node.text or "") + child
    return node


def table(headers: Sequence[str], rows: Iterable[Sequence[Child]], numbers_from: int = 1) -> Element:
    """A table whose columns hold numbers from some column on."""

    def cells(tag: str, row: Sequence[Child]) -> Element:
        return el("tr", *(el(tag, cell, class_="number" if i >= numbers_from else "") for i, cell in enumerate(row)))

    body = el("tbody", *(cells("td", row) for row in rows))
    # Wide tables scroll by themselves, not with the whole page.
    return el("div", el("table", el("thead", cells("th", headers)), body), class_="wide")


def document(title: str, style: Element, *body: Child) -> str:
    """A whole page; ``style`` is a style element, or a link to one."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", title),
        style,
    )
    page = el("html", head, el("body", el("main", *body)), lang="en")
    return "<!doctype html>\n" + tostring(page, encoding="unicode", method="html") + "\n"
