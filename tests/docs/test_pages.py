"""Every code block of the documents runs, and prints what is shown below it."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages import Reader, blocks
from titer.service.settings import Settings

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = sorted(path for path in (ROOT / "docs").glob("*.md") if path.name != "models.md")  # see test_models_page.py
RUN = "runs/small-world"
"""The run that the README trains, and other pages use."""

RUN_KINDS = {"sh", "python", "output", "serve", "http", "json", "csv", "toml"}
SHOWN_KINDS = {"text", "ini", "nginx"}

# One process trains the run for all pages.
in_one_process = [pytest.mark.slow, pytest.mark.xdist_group("documents"), pytest.mark.timeout(600)]


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@pytest.fixture(scope="session")
def readme(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    # Its commands show the forecasts of a complete event model, which other pages use too.
    reader = Reader(tmp_path_factory.mktemp("readme"), free_port(), quick_events=False)
    reader.read(README)
    return reader


@pytest.fixture
def reader(readme: Reader, tmp_path: Path) -> Iterator[Reader]:
    reader = Reader(tmp_path, free_port(), {RUN: readme.folder / RUN})
    yield reader
    reader.stop()


class TestBlocks:
    pytestmark = in_one_process

    def test_blocks_of_the_readme(self, readme: Reader):
        assert readme.names["forecast"].answers[0].entity == "Nadia Torvald"

    @pytest.mark.parametrize("page", [page for page in PAGES if any(blocks(page))], ids=lambda page: page.stem)
    def test_blocks_of_a_page(self, reader: Reader, page: Path):
        reader.read(page)
        if page.name == "tutorial.md":
            assert (reader.folder / "report.html").stat().st_size > 10_000
        if page.name == "service.md":
            assert set(reader.request("GET", "/openapi.json")["paths"]) <= documented_routes()
            assert "<svg" in (reader.folder / "evidence.svg").read_text(encoding="utf-8")
        reader.stop()
        assert reader.service is None or reader.service.returncode == 0


def documented_routes() -> set[str]:
    return set(re.findall(r"`(?:GET|POST) (/[^?`]*)", (ROOT / "docs/service.md").read_text(encoding="utf-8")))


def test_the_service_page_has_an_example_of_most_routes():
    kinds = [block.kind for block in blocks(ROOT / "docs/service.md")]
    assert kinds.count("http") == kinds.count("json") >= 8


def test_the_service_page_lists_every_setting_with_its_default():
    page = (ROOT / "docs/service.md").read_text(encoding="utf-8")
    for name, setting in Settings.model_fields.items():
        default = "none" if setting.default in (None, ()) else setting.default
        assert f"| `TITER_{name.upper()}` | {default} |" in page


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.stem)
def test_every_block_has_a_language_that_is_run_or_only_shown(page: Path):
    for block in blocks(page):
        assert block.kind in RUN_KINDS | SHOWN_KINDS, block
        if block.kind in SHOWN_KINDS:
            assert not re.match(r"\$? ?(titer|python|pip|docker|make) ", block.code), f"commands are sh: {block.code}"


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.stem)
def test_no_document_imports_a_deeper_module(page: Path):
    for block in blocks(page):
        assert not re.search(r"(from|import) titer\.(?!ray import)", block.code), block.code


@pytest.mark.slow
class TestReader:
    def test_a_wrong_output_is_reported(self, tmp_path: Path):
        page = tmp_path / "page.md"
        page.write_text("```sh\necho one; echo two 3.5%\n```\n\n```output\ntwo 4.1%\n```\n")
        Reader(tmp_path, "0").read(page)
        page.write_text("```sh\necho one\n```\n\n```output\ntwo\n```\n")
        (tmp_path / "other").mkdir()
        with pytest.raises(AssertionError, match="two"):
            Reader(tmp_path / "other", "0").read(page)

    def test_a_failing_command_is_reported(self, tmp_path: Path):
        page = tmp_path / "page.md"
        page.write_text("```sh\nfalse\necho done\n```\n")
        with pytest.raises(AssertionError, match="false"):
            Reader(tmp_path, "0").read(page)

    def test_python_blocks_share_a_session_and_a_folder(self, tmp_path: Path):
        page = tmp_path / "page.md"
        page.write_text(
            '```csv title="a.csv"\n1,2\n```\n\n'
            '```python\nfrom pathlib import Path\nx = Path("a.csv").read_text()\n```\n\n'
            "<!-- not run: it would fail -->\n```python\nraise ValueError\n```\n\n"
            "```python\nprint(x.strip())\n```\n\n```output\n1,2\n```\n"
        )
        Reader(tmp_path, "0").read(page)

    def test_a_form_is_the_keys_at_every_depth(self, tmp_path: Path):
        reader = Reader(tmp_path, "0")
        reader.response = {"answers": [{"rank": 1, "reasons": []}], "error": None}
        reader.json('{"answers": [{"rank": 2, "reasons": []}, {}], "error": 5}')
        with pytest.raises(AssertionError):
            reader.json('{"answers": [{"rank": 2}], "error": 5}')

    def test_another_error_message_is_reported(self, tmp_path: Path):
        reader = Reader(tmp_path, "0")
        reader.response = {"forecasts": [{"rank": 1}, {"error": "unknown entity 'a'"}]}
        reader.json('{"forecasts": [{"rank": 2}, {"error": "unknown entity \'a\'"}]}')
        with pytest.raises(AssertionError, match="no entity"):
            reader.json('{"forecasts": [{"rank": 2}, {"error": "no entity \'a\'"}]}')
