"""Documents outside ``docs/`` as pages, with links that work on the site."""

import posixpath
import re
from pathlib import Path

PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
    "benchmarks/RESULTS.md": "results/index.md",
    "benchmarks/paper_tables.md": "results/paper_tables.md",
    "benchmarks/path_mixture.md": "results/path_mixture.md",
    "benchmarks/speed.md": "results/speed.md",
    "notebooks/add_a_model.ipynb": "notebooks/add_a_model.md",
    "notebooks/from_csv_to_forecast.ipynb": "notebooks/from_csv_to_forecast.md",
}
"""Path in the repository → path on the site, for documents outside ``docs/``."""
PICTURES = {
    "benchmarks/inductive.svg": "results/inductive.svg",
    "benchmarks/time_encoding.svg": "results/time_encoding.svg",
}
"""The same for the pictures of these documents."""
LINK = re.compile(r"(?P<text>!?\[(?:[^\]\[]|\[[^\]]*\])*\])\((?P<target>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")


def site_path(source: str) -> str | None:
    """Return where a file of the repository is on the site, or None if it is not there."""
    if source in PAGES or source in PICTURES:
        return {**PAGES, **PICTURES}[source]
    return source.removeprefix("docs/") if source.startswith("docs/") else None


def source_path(page: str) -> str:
    """Return the file of the repository that a page of the site shows."""
    return {site: source for source, site in PAGES.items() if source != "README.md"}.get(page, f"docs/{page}")


def with_site_links(text: str, page: str, root: Path) -> str:
    """Return the text of a page with every link to a file of the repository changed to one that works on the site.

    A link to a file that the site does not have, such as a module, becomes plain text.
    """
    folder = posixpath.dirname(source_path(page))

    def changed(found: re.Match[str]) -> str:
        source = posixpath.normpath(posixpath.join(folder, found["target"]))
        target = site_path(source)
        if target is None:
            return found["text"].strip("![]") if (root / source).exists() else found[0]
        here = posixpath.dirname(page) or "."
        return f"{found['text']}({posixpath.relpath(target, here)}{found['anchor'] or ''})"

    return LINK.sub(changed, text)
