"""The generated pages of the documentation site, and the site itself."""

import inspect
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import titer
from site_pages import commands, models, reference, repository, settings
from site_pages.doctests import with_code_blocks
from site_pages.formulas import with_mathml
from site_pages.markup import table
from titer.models.registry import BUILT_IN, model_class

ROOT = Path(__file__).parents[2]
STRAY = re.compile(r"<m[a-z]+>&(amp;)?</m")
"""An alignment mark that is printed, since its environment was not understood."""


def test_a_table_escapes_bars_and_line_ends():
    assert table(["a"], [["b | c\nd"]]) == "| a |\n| --- |\n| b \\| c d |"


class TestCommands:
    def test_every_command_has_a_section(self):
        page = commands.page()
        assert {"titer train", "titer data import", "titer facts add"} <= set(commands.command_names())
        for name in commands.command_names():
            assert f"\n## {name}\n" in page

    def test_arguments_options_and_defaults_are_shown(self):
        page = commands.page()
        evaluate = page[page.index("## titer evaluate") :]
        assert "| `RUN` |" in evaluate
        assert re.search(r"\| `--split valid\\\|test` \| .+ \| `test` \|", evaluate)
        assert re.search(r"\| `--out PATH` \| .+ \| required \|", page[page.index("## titer train") :])
        assert "environment variable `TITER_TOKEN`" in page
        assert "| `--epochs INTEGER` |" in page
        assert "| `--device TEXT` |" in page
        assert not re.search(r"`--\S+ [A-Z]+ RANGE`", page)

    def test_examples_are_the_commands_at_the_end_of_a_help_text(self):
        assert commands._examples("\b\nExamples:\n  titer models\n  titer data list") == "titer models\ntiter data list"
        assert commands._examples("") == ""


class TestReference:
    def test_every_public_name_is_in_one_group(self):
        names = [name for group in reference.grouped_names().values() for name in group]
        assert sorted([*names, "__version__"]) == sorted(titer.__all__)

    def test_a_name_is_shown_as_it_is_imported(self):
        page = reference.page()
        assert "::: titer.forecasting.forecaster.Forecaster\n" in page
        assert "heading: titer.Forecaster\n" in page


class TestModels:
    def test_every_model_has_a_page_with_settings_and_results(self):
        folder = ROOT / "benchmarks" / "results"
        pages, labels = models.pages(folder), models.load_results(folder)
        assert set(pages) == set(BUILT_IN)
        for name, page in pages.items():
            assert "## Settings" in page
            assert ("## Results" in page) == any(label.startswith(f"{name}/") for label in labels)
        assert "`titer reproduce titer/icews14`" in pages["titer"]

    def test_no_formula_of_a_model_has_a_stray_alignment_mark(self):
        for name in BUILT_IN:
            for base in model_class(name).__mro__:
                assert not STRAY.search(with_mathml(inspect.getdoc(base) or "")), base

    def test_the_page_of_a_model_shows_a_base_class_with_a_formula(self):
        pages = models.pages(ROOT / "benchmarks" / "results")
        for name in ("tango_tucker", "tango_distmult"):
            assert "## TANGO\n\n::: titer.models.tango.model.TANGO\n" in pages[name]

    def test_results_are_means_over_seeds(self):
        results = {"m/yago": [{"metrics": dict.fromkeys(models.METRICS, mrr), "command": "c"} for mrr in (0.5, 0.7)]}
        assert "60.00 ± 14.14" in "\n".join(models._results("m", results))


@dataclass(frozen=True)
class BaseConfig:
    """A base class."""

    size: int = 3
    """How large | wide."""


@dataclass(frozen=True)
class ChildConfig(BaseConfig):
    """A child class."""

    name: str = "x"
    bare: bool = True
    """The last ``one``."""


def test_settings_of_base_classes_are_listed_with_their_descriptions():
    assert settings.settings_table(ChildConfig).splitlines()[2:] == [
        "| `size` | `int` | `3` | How large \\| wide. |",
        "| `name` | `str` | `'x'` |  |",
        "| `bare` | `bool` | `True` | The last `one`. |",
    ]


class TestFormulas:
    def test_a_directive_becomes_a_block_and_the_text_around_it_stays(self):
        text = with_mathml("Before.\n\n.. math::\n    a_b = \\frac{1}{2}\n\n    + c\n\nAfter.")
        assert text.startswith("Before.\n")
        assert text.endswith("After.")
        assert text.count("<math") == 1
        assert "<mfrac>" in text
        assert ".. math" not in text

    def test_both_other_forms(self):
        assert 'display="block"' in with_mathml("$$ x^2 $$")
        assert 'display="inline"' in with_mathml(r"where \(x^2\) is")

    @pytest.mark.parametrize("environment", ["aligned", "split", "align*"])
    def test_aligned_lines_become_the_rows_of_a_table(self, environment: str):
        text = with_mathml(f"$$\n\\begin{{{environment}}}\na &= b \\\\\nc &= d\n\\end{{{environment}}}\n$$")
        assert text.count("<mtr>") == 2
        assert not STRAY.search(text)

    @pytest.mark.parametrize("code", ["```sh\necho $$ a $$\n```", r"`\(x\)`", "```\n.. math::\n    a\n```"])
    def test_code_is_left_alone(self, code: str):
        assert with_mathml(code) == code


class TestDoctests:
    def test_an_example_and_its_output_become_a_code_block(self):
        text = with_code_blocks("Before.\n\n>>> a = 1\n>>> print(\n...     a)\n1\n\nAfter > all.\n")
        assert text == "Before.\n\n```pycon\n>>> a = 1\n>>> print(\n...     a)\n1\n```\n\nAfter > all.\n"

    def test_a_quotation_stays(self):
        assert with_code_blocks("> quoted\n> text") == "> quoted\n> text"


class TestLinks:
    @pytest.mark.parametrize(
        ("page", "text", "changed"),
        [
            ("tutorial.md", "[a](evaluation.md#speed)", "[a](evaluation.md#speed)"),
            ("evaluation.md", "[a](../benchmarks/RESULTS.md)", "[a](results/index.md)"),
            ("results/index.md", "[a](../docs/evaluation.md)", "[a](../evaluation.md)"),
            ("results/index.md", "![a](inductive.svg)", "![a](inductive.svg)"),
            ("changelog.md", "[a](docs/pictures/page-small-world.png)", "[a](pictures/page-small-world.png)"),
            ("contributing.md", "see [`a`](tests/models/cases.py)", "see `a`"),
            ("index.md", "[a](https://example.org/x)", "[a](https://example.org/x)"),
            ("index.md", "[a](missing.md)", "[a](missing.md)"),
        ],
    )
    def test_links_to_files_of_the_repository(self, page: str, text: str, changed: str):
        assert repository.with_site_links(text, page, ROOT) == changed

    def test_every_document_outside_docs_exists(self):
        assert all((ROOT / source).is_file() for source in (*repository.PAGES, *repository.PICTURES))


@pytest.mark.slow
def test_the_site_builds_without_warnings_and_loads_nothing_from_other_hosts(tmp_path: Path):
    pytest.importorskip("mkdocs")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "TITER_DOCS_EXECUTE": "0", "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^>]+", text)
        loaded += [link for link in re.findall(r"<link\b[^>]+>", text) if re.search(r"href=[\"']?(https?:)?//", link)]
        assert [link for link in loaded if 'rel="canonical"' not in link] == [], page
        assert ".. math::" not in text, page
        assert not STRAY.search(text), page
    for sheet in tmp_path.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet
