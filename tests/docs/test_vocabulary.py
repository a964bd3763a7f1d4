"""Words that this repository does not use, since plain terms exist for what they mean."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# In two parts each, so that this file does not contain them.
AVOIDED = ("ho" + "use", "new" + "comer", "me" + "nd", "fore" + "tell", "fore" + "told", "who" + "ever")
NAMES = ("House of Representatives",)
"""Proper names in data that contain one of them."""
PATTERN = re.compile(rf"\b({'|'.join(AVOIDED)})\b", flags=re.IGNORECASE)


def tracked_texts() -> Iterator[tuple[str, str]]:
    """Return the path and the text of every tracked file that is text."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git repository")
    for path in listed.stdout.rstrip("\0").split("\0"):
        try:
            yield path, (ROOT / path).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue  # a binary file, or one that was removed and is still in the index


def avoided_words(text: str) -> list[str]:
    for name in NAMES:
        text = text.replace(name, "")
    return PATTERN.findall(text)


def test_no_tracked_file_contains_an_avoided_word():
    found = {path: words for path, text in tracked_texts() if (words := avoided_words(text))}
    assert found == {}


def test_whole_words_are_found_in_any_case_except_in_names():
    text = f"A {AVOIDED[0].upper()}, {AVOIDED[0]}s and the {NAMES[0]}"
    assert avoided_words(text) == [AVOIDED[0].upper()]
