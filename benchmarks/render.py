"""Render the results in all documents: the blocks between ``<!-- results: NAME -->`` and their ends, and the pictures.

    python benchmarks/render.py           # write what has changed
    python benchmarks/render.py --check   # write nothing; exit with 1 if something would change

Every number comes from a file of results in ``benchmarks``, or is a figure of the paper in
``titer.evaluation.published`` or ``published_tables``.
"""

import argparse
import sys
from pathlib import Path

from rendering.blocks import with_blocks
from rendering.conventions import PICTURE
from rendering.events import event_pictures
from rendering.files import BENCHMARKS, Measurements
from rendering.pictures import inductive_picture, other_questions_picture, time_picture
from rendering.scale import PICTURE as SCALE_PICTURE
from rendering.scale import scale_picture

ROOT = BENCHMARKS.parent
DOCUMENTS = ("README.md", "CHANGELOG.md", "docs/*.md", "benchmarks/*.md")
"""Documents that may have blocks of results."""


def rendered(measured: Measurements) -> dict[Path, str]:
    """Return the content of every file that shows results."""
    pages = {path: with_blocks(path.read_text(encoding="utf-8"), measured) for path in documents()}
    pages[BENCHMARKS / "inductive.svg"] = inductive_picture(measured)
    pages[BENCHMARKS / "time_encoding.svg"] = time_picture(measured)
    if measured.other_questions:
        pages[ROOT / "docs" / PICTURE] = other_questions_picture(measured)
    if measured.scale:
        pages[ROOT / "docs" / SCALE_PICTURE] = scale_picture(measured)
    pages |= {ROOT / "docs" / path: picture for path, picture in event_pictures(measured).items()}
    return pages


def documents() -> list[Path]:
    """Return the documents that may show results."""
    return sorted(path for pattern in DOCUMENTS for path in ROOT.glob(pattern))


def main(words: list[str] | None = None) -> int:
    """Write the files that have changed, or list them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something would change")
    check: bool = parser.parse_args(words).check
    changed = [
        (path, text)
        for path, text in rendered(Measurements.load()).items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    for path, text in changed:
        print(f"{path.relative_to(ROOT)} {'is not up to date' if check else 'is written'}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
