"""Interactive examples in docstrings as code blocks: Markdown takes ``>>>`` for a quotation."""

import re

from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor

EXAMPLE = re.compile(r"(?:^ *(?:>>>|\.\.\.) .*(?:\n|\Z))+(?:^ *[^\s>].*(?:\n|\Z))*", re.MULTILINE)


class Doctests(Extension):
    """Python-Markdown extension that shows interactive examples as code."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the name is given by Python-Markdown
        """Register the preprocessor, to run before code blocks are found."""
        md.preprocessors.register(_DoctestPreprocessor(md), "doctests", 29)


class _DoctestPreprocessor(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        """Put the examples of a text into code blocks."""
        text = "\n".join(lines)
        return lines if "```" in text else with_code_blocks(text).split("\n")


def with_code_blocks(text: str) -> str:
    """Return a text with every example, and the output below it, in a code block."""
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text)
