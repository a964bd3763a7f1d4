r"""Formulas as MathML, which browsers show without a script.

A formula is written as ``$$ … $$`` on lines of its own, as ``\( … \)`` inside a line, or, in docstrings, as an indented
block below ``.. math::``.
"""

import re
import textwrap
from typing import Any

from latex2mathml.converter import convert
from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor

DIRECTIVE = re.compile(r"^(?P<indent> *)\.\. math::[ \t]*\n(?P<body>(?:(?P=indent) +\S.*\n?|[ \t]*\n)+)", re.MULTILINE)
DISPLAY = re.compile(r"^ *\$\$(?P<body>.+?)\$\$ *$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"\\\((?P<body>.+?)\\\)")
FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2`*~* *$|(?<!`)`[^`\n]+`(?!`)", re.MULTILINE | re.DOTALL)


class Formulas(Extension):
    """Python-Markdown extension that replaces formulas by MathML."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the name is given by Python-Markdown
        """Register the preprocessor, to run before HTML blocks are stashed."""
        md.preprocessors.register(_FormulaPreprocessor(md), "formulas", 28)


class _FormulaPreprocessor(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        """Replace the formulas of a text, those in code excepted."""
        return with_mathml("\n".join(lines), self.md.htmlStash.store).split("\n")


def with_mathml(text: str, stash: Any = str) -> str:
    """Return a text with its formulas as MathML; ``stash`` protects HTML from the rest of the conversion."""
    pieces, start = [], 0
    for fence in FENCE.finditer(text):
        pieces += [_replaced(text[start : fence.start()], stash), fence[0]]
        start = fence.end()
    return "".join([*pieces, _replaced(text[start:], stash)])


def _replaced(text: str, stash: Any) -> str:
    text = DIRECTIVE.sub(lambda found: f"\n{found['indent']}{stash(_block(found['body']))}\n\n", text)
    text = DISPLAY.sub(lambda found: f"\n{stash(_block(found['body']))}\n", text)
    return INLINE.sub(lambda found: stash(convert(found["body"].strip())), text)


def _block(latex: str) -> str:
    # latex2mathml does not know ``aligned``; ``split`` has the same meaning.
    latex = textwrap.dedent(latex).strip().replace("{aligned}", "{split}")
    return f'<div class="equation">{convert(latex, display="block")}</div>'
