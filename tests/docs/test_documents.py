"""What is written in the documents exists: links, paths, commands, extras."""

import re
import tomllib
from pathlib import Path

import pytest

from pages import blocks
from site_pages.commands import command_names

ROOT = Path(__file__).parents[2]
FOLDERS = (".", "docs", "benchmarks")
DOCUMENTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.md"))
FILES = "src", "tests", "benchmarks", "docs", "notebooks", ".ci", ".github"

documents = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def text_of(document: Path) -> str:
    return document.read_text(encoding="utf-8")


def without_blocks(document: Path) -> str:
    return re.sub(r"^```.*?^```", "", text_of(document), flags=re.DOTALL | re.MULTILINE)


@documents
def test_links_lead_to_files(document: Path):
    generated = {"docs/reference/api.md", "docs/reference/commands.md", "docs/results/index.md"}
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", without_blocks(document)):
        target = (document.parent / link).resolve()
        assert target.exists() or str(target.relative_to(ROOT)) in generated, link


@documents
def test_paths_in_backticks_exist(document: Path):
    written = {block.title for page in DOCUMENTS for block in blocks(page)}
    written |= {found[1] for page in DOCUMENTS for found in re.finditer(r"^# (\w+\.\w+)$", text_of(page), re.MULTILINE)}
    known = {path.name for folder in FILES for path in (ROOT / folder).rglob("*.py")} | written
    for path in re.findall(r"`([\w./-]+)`", without_blocks(document)):
        if path.startswith(tuple(f"{folder}/" for folder in FILES)):
            assert (ROOT / path).exists(), path
        elif path.endswith(".py") and not path.startswith("_"):
            assert (
                path in known if "/" not in path else any((ROOT / top / path).exists() for top in ("", "src/titer"))
            ), path


@documents
def test_commands_exist(document: Path):
    known = [f"{name} " for name in command_names()]
    text = "\n".join(
        [*(block.code for block in blocks(document)), *re.findall(r"`([^`\n]+)`", without_blocks(document))]
    )
    for command in re.findall(r"^(titer [a-z]+(?: [a-z]+)?)\b", text, re.MULTILINE):
        assert any(f"{command} ".startswith(name) or name.startswith(f"{command} ") for name in known), command


@documents
def test_no_placeholder_is_left(document: Path):
    assert not re.search(r"@[A-Z_]+@|TODO|FIXME", text_of(document))


def test_extras_exist():
    extras = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    for document in DOCUMENTS:
        for names in re.findall(r"(?:titer|\.)\[([a-z,]+)\]", text_of(document)):
            assert set(names.split(",")) <= set(extras), document
    table = re.findall(r"^\| `(\w+)` \|", text_of(ROOT / "docs/getting-started.md"), re.MULTILINE)
    assert set(table) <= set(extras)


def test_the_readme_begins_with_a_picture_and_has_no_count_of_tests():
    readme = text_of(ROOT / "README.md")
    assert "![" in "\n".join(readme.splitlines()[:15])
    assert not re.search(r"\d+ (tests|passed)", readme)


def test_the_citation_has_the_repository_of_the_package_and_no_second_copy_of_its_version():
    citation = text_of(ROOT / "CITATION.cff")
    urls = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["urls"]
    assert "\nversion:" not in citation
    assert f"\nrepository-code: {urls['Source']}\n" in citation


def test_the_changelog_has_the_keep_a_changelog_form():
    changelog = text_of(ROOT / "CHANGELOG.md")
    assert "keepachangelog.com" in changelog
    releases = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", changelog, re.MULTILINE)
    assert releases[0] == ("Unreleased", "")
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.+)$", changelog, re.MULTILINE)) <= kinds


def test_screenshots_are_taken_with_any_browser_of_the_tests():
    files = ROOT / "docs/take_screenshots.py", ROOT / "tests/service/browsing.py"
    first, second = (re.findall(r"^BROWSERS = .+$", text_of(file), re.MULTILINE) for file in files)
    assert first == second != []
