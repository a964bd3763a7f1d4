"""Reader of Excel files."""

from collections.abc import Iterator
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from titer.data.readers.json_lines import JsonLines, JsonRow
from titer.errors import DataError
from titer.extras import missing


class ExcelFile(JsonLines):
    """The first sheet with content of an Excel file; its first row has the column names, or ``names`` are given."""

    def __init__(self, path: Path, names: list[str] | None = None):
        super().__init__(path)
        self.names = names

    def _read_rows(self) -> Iterator[JsonRow]:
        try:
            from openpyxl import load_workbook
        except ImportError:
            raise missing("reading Excel files", "excel") from None
        try:
            book = load_workbook(self.path, read_only=True, data_only=True)
        except Exception as error:
            raise DataError(f"{self.name}: not a readable Excel file: {error}") from error
        try:
            columns = self.names
            sheet = next(
                (sheet for sheet in book.worksheets if sheet.max_row and sheet.max_row > 1), book.worksheets[0]
            )
            for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
                values = [_plain(value) for value in row]
                if columns is None:
                    columns = [
                        str(value).strip() if value is not None else f"column {i + 1}" for i, value in enumerate(values)
                    ]
                    continue
                record = dict(zip(columns, values, strict=False))
                filled = any(value not in (None, "") for value in values)
                text = ",".join("" if value is None else str(value) for value in values)
                yield JsonRow(number, text, record if filled else None)
        finally:
            book.close()


def _plain(value: Any) -> str | int | float | None:
    """Return a cell as text or a number; dates as ISO dates."""
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(timespec="minutes")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | int | float) or value is None else str(value)
