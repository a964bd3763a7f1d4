"""Cells of CSV files that a spreadsheet shows as text instead of running them."""

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def spreadsheet_safe(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: text that begins like one gets an apostrophe.

    Numbers, also negative ones, stay as they are.
    """
    if isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def _has_formula(column: Any) -> bool:
    options = pc.MatchSubstringOptions(r"\A[=+\-@\t\r]")
    return any(pc.call_function("match_substring_regex", [column], options).to_pylist())


def safe_column(column: Any) -> Any:
    """Return an Arrow column in which no text begins like a formula; others are returned as they are."""
    if not pa.types.is_string(column.type) or not _has_formula(column):
        return column
    return pa.array([spreadsheet_safe(value) for value in column.to_pylist()], column.type)
