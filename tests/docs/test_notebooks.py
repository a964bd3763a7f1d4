"""The notebooks run from a clean state, and are committed without outputs."""

import gc
import os
import re
from pathlib import Path

import nbformat
import pytest

from site_pages.notebooks import execute, page

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TITLES = {
    "add_a_model": "# Add a model and compare it",
    "from_csv_to_forecast": "# From a CSV to an explained forecast",
}

CHECKS = {
    "add_a_model": "assert evaluations['path_mixture'].metrics().mrr > evaluations['edge_vote'].metrics().mrr > 0.3",
    "from_csv_to_forecast": "assert forecast.answers[0].entity == pact_of[target] and change.moves",
}
"""What must be true after the last cell."""

QUICK_EVENTS = f"""
import sys
sys.path.append({str(ROOT / "tests")!r})
from quick_events import use_quick_events
use_quick_events()
"""

notebooks = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def test_both_notebooks_are_there():
    assert [path.stem for path in NOTEBOOKS] == sorted(TITLES)


@notebooks
def test_a_notebook_is_committed_without_outputs(path: Path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.cells[0].source.splitlines()[0] == TITLES[path.stem]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
            assert not re.search(r"(from|import) titer\.", cell.source)
            assert not re.search(r"^\s*[!%]", cell.source, re.MULTILINE), (
                "no shell commands: they need a certain machine"
            )


@pytest.mark.slow
@pytest.mark.timeout(300)
@notebooks
def test_a_notebook_runs_from_a_clean_state(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(QUICK_EVENTS))
    notebook.cells.append(nbformat.v4.new_code_cell(CHECKS[path.stem]))
    notebook.cells.append(nbformat.v4.new_code_cell("import os; print(os.getpid())"))
    execute(notebook)
    gc.collect()  # sockets that were left open would be an error
    with pytest.raises(ProcessLookupError):
        os.kill(int(notebook.cells[-1].outputs[0].text), 0)  # the kernel has ended
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert outputs
    assert not [output for output in outputs if output.output_type == "error"]


def test_a_page_shows_text_pictures_and_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TITER_DOCS_EXECUTE", "0")
    outputs = [
        nbformat.v4.new_output("stream", name="stdout", text="a < b\n"),
        nbformat.v4.new_output("stream", name="stderr", text="progress"),
        nbformat.v4.new_output("execute_result", data={"text/plain": "plain", "text/html": "<table>\n\n</table>"}),
        nbformat.v4.new_output("display_data", data={"image/svg+xml": "<svg></svg>"}),
    ]
    cells = [nbformat.v4.new_markdown_cell("# Title"), nbformat.v4.new_code_cell("1", outputs=outputs)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "n.ipynb")
    text = page(tmp_path / "n.ipynb")
    assert text.startswith("# Title\n\n```python\n1\n```")
    assert "a &lt; b" in text
    assert "progress" not in text
    assert "<table>\n</table>" in text
    assert "<svg></svg>" in text
    assert "plain" not in text
