"""Hooks of mkdocs: add the generated pages, show formulas, and change links between documents."""

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from site_pages import commands, models, notebooks, reference, repository
from site_pages.doctests import Doctests
from site_pages.formulas import Formulas

ROOT = Path(__file__).parents[1]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the Markdown extensions, and the pages of the models to the navigation."""
    extensions: list[Any] = config.markdown_extensions
    extensions += [Doctests(), Formulas()]
    nav: list[dict[str, Any]] = config.nav or []
    for section in nav:
        section.get("Models", []).extend({name: f"models/{name}.md"} for name in models.BUILT_IN)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add all generated pages."""
    for path, content in generated_pages(ROOT).items():
        files.append(File.generated(config, path, content=content))
    for source, path in repository.PICTURES.items():
        files.append(File.generated(config, path, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Change links to files of the repository, and keep a mean and its deviation on one line."""
    return repository.with_site_links(markdown, page.file.src_uri, ROOT).replace(
        " ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}"
    )


def generated_pages(root: Path) -> dict[str, str]:
    """Return the text of every page that has no file in ``docs/``, by its path on the site."""
    pages = {"reference/commands.md": commands.page(), "reference/api.md": reference.page()}
    pages |= {f"models/{name}.md": text for name, text in models.pages(root / "benchmarks" / "results").items()}
    for source, path in repository.PAGES.items():
        if source.endswith(".ipynb"):
            pages[path] = notebooks.page(root / source)
        elif path != "index.md":
            pages[path] = (root / source).read_text(encoding="utf-8")
    return pages
