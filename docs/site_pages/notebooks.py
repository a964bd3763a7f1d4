"""Notebooks as pages: executed when the site is built, then written as Markdown."""

import os
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

EXECUTE = "TITER_DOCS_EXECUTE"
"""Environment variable: ``0`` builds the site without running the notebooks, and so without their outputs."""
SHOWN_AS_HTML = ("text/html", "image/svg+xml")


def page(path: Path) -> str:
    """Return a notebook as Markdown, with the outputs of its cells."""
    notebook = nbformat.read(path, as_version=4)
    if os.environ.get(EXECUTE, "1") != "0":
        execute(notebook)
    return "\n\n".join(part for cell in notebook.cells for part in _cell(cell))


def execute(notebook: nbformat.NotebookNode) -> None:
    """Run all cells in an empty temporary folder."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as sockets:
        client = NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}})
        # Other users of this machine could read what goes over TCP. The client ends only kernels that it has created.
        kernel = client.create_kernel_manager()
        kernel.transport, kernel.ip = "ipc", f"{sockets}/kernel"
        client.execute()


def _cell(cell: Any) -> Iterator[str]:
    if cell.cell_type == "markdown":
        yield cell.source
    elif cell.cell_type == "code":
        yield f"```python\n{cell.source}\n```"
        yield from (text for output in cell.outputs if (text := _output(output)))


def _output(output: Any) -> str:
    """Return one output of a cell; warnings and progress bars on standard error are left out."""
    if output.output_type == "stream":
        return _text(output.text) if output.name == "stdout" else ""
    if output.output_type not in ("display_data", "execute_result"):
        return ""
    for kind in SHOWN_AS_HTML:
        if kind in output.data:
            # Markdown ends a block of HTML at an empty line.
            lines = [line for line in output.data[kind].splitlines() if line.strip()]
            return "\n".join(['<div class="output">', *lines, "</div>"])
    return _text(output.data.get("text/plain", ""))


def _text(text: str) -> str:
    return f'<pre class="output">{escape(text.rstrip(), quote=False)}</pre>'.replace("\n\n", "\n&#8203;\n")
