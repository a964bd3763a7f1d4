"""HTML and SVG as element trees, so that no name from the data is ever read as markup."""

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, tostring

Child = Element | str


def el(tag: str, *children: Child, **attributes: object) -> Element:
    """Return an element.

    Args:
        tag: The name of the element.
        children: Elements and text, in order.
        attributes: Its attributes. ``class_`` becomes ``class``, and other underscores become hyphens.
    """
    node = Element(tag, {name.rstrip("_").replace("_", "-"): str(value) for name, value in attributes.items()})
    for child in children:
        if isinstance(child, Element):
            node.append(child)
        elif len(node):
            node[-1].tail = (node[-1].tail or "") + child
        else:
            node.text = (node.text or "") + child
    return node


def table(
    headers: Sequence[str], rows: Iterable[Sequence[Child]], numbers_from: int = 1, numbers_to: int = 0
) -> Element:
    """Return a table.

    Args:
        headers: The header row.
        rows: The other rows.
        numbers_from: The first column that is aligned to the right, as numbers are; all later ones are, too.
        numbers_to: Columns before this one are aligned to the right, too.
    """

    def cells(tag: str, row: Sequence[Child]) -> Element:
        numbers = ({"class_": "number"} if i >= numbers_from or i < numbers_to else {} for i in range(len(row)))
        return el("tr", *(el(tag, cell, **classes) for cell, classes in zip(row, numbers, strict=True)))

    body = el("tbody", *(cells("td", row) for row in rows))
    # A wide table scrolls in its own box, not with the page.
    return el("div", el("table", el("thead", cells("th", headers)), body), class_="wide")


def document(title: str, style: Element, *body: Child) -> str:
    """Return a complete HTML document.

    Args:
        title: The title of the page.
        style: A style element, or a link to a style sheet.
        body: The content.
    """
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", title),
        style,
    )
    page = el("html", head, el("body", el("main", *body)), lang="en")
    return "<!doctype html>\n" + tostring(page, encoding="unicode", method="html") + "\n"
