"""The options for reading tables of named facts."""

import codecs
from dataclasses import dataclass, field, fields
from typing import Any

from titer.data.date_format import check_format
from titer.data.partial_date import PartialDate
from titer.data.time_unit import TimeUnit
from titer.errors import DataError

NAMES = ("subject", "relation", "object")
POINT = ("time",)
INTERVAL = ("start", "end")
PARTS = (*NAMES, *POINT, *INTERVAL, "weight")


@dataclass(frozen=True)
class TableOptions:
    """How tables of named facts are read; a dataset remembers the options that it was imported with."""

    columns: dict[str, str] = field(default_factory=dict)
    """The column for each part of a fact (subject, relation, object, time, start, end, weight) if its name differs.
    ``a+b`` joins two columns, ``a|b`` uses the second where the first has no value."""
    constants: dict[str, str] = field(default_factory=dict)
    """Parts of a fact that are the same in all rows."""
    names: list[str] | None = None
    """Column names of text files without a header row."""
    delimiter: str | None = None
    """What separates two fields; by default a comma for .csv, and a tab for .tsv and .txt."""
    encoding: str | None = None
    """Encoding of text files; by default UTF-8."""
    unit: TimeUnit | None = None
    """Length of one time step; by default the precision of the first date."""
    date_format: str | None = None
    """Format of dates for ``strptime``, or ``unix`` or ``unix_ms``, if they are not ISO dates."""
    pivot_year: int | None = None
    """Latest year that a two-digit year can mean; by default 2068, as in ``strptime``."""
    earliest: str | None = None
    """First date to keep. Facts that last are cut there, and an unknown start is set to it."""
    latest: str | None = None
    """Last date to keep. Facts that last are cut there, and an unknown end is set to it."""
    missing: list[str] = field(default_factory=list)
    """Words that mean that there is no value, such as ``NA``."""
    merge_names: bool = False
    """Join names that differ only in capitalisation and spaces; the most frequent spelling is kept."""
    format: str | None = None
    """The source of the files, such as ``gdelt``, which says where the parts of a fact are."""
    attributes: list[str] = field(default_factory=list)
    """Further columns to keep for display."""
    phrases: dict[str, str] = field(default_factory=dict)
    """How facts of a relation are written as sentences: ``rioted against``, or ``appointed {} as director``, where the
    object replaces ``{}``."""

    def __post_init__(self) -> None:
        for part in (*self.columns, *self.constants):
            if part not in PARTS:
                raise DataError(f"unknown part of a fact {part!r}; columns can be given for {', '.join(PARTS)}")
        if both := sorted(set(self.columns) & set(self.constants)):
            raise DataError(f"{both[0]} has both a column and a constant; give one of them")
        check_format(self.date_format)
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise DataError(f"the delimiter must be one character, not {self.delimiter!r}")
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError:
            raise DataError(f"unknown encoding {self.encoding!r}") from None

    def date(self, text: str) -> str:
        """Return a date as an ISO date if it is written in the format of the files, otherwise as it is.

        Args:
            text: The date.
        """
        if self.date_format is None:
            return text
        try:
            parsed = PartialDate.parse(text, self.date_format, self.pivot_year)
        except DataError:
            return text
        return text if parsed is None else str(parsed.first.astype(f"datetime64[{parsed.unit.code}]"))

    def to_dict(self) -> dict[str, Any]:
        """Return the options that are set, as plain values for TOML and JSON."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {
            name: str(value) if isinstance(value, TimeUnit) else value
            for name, value in values.items()
            if value not in (None, False, [], {})
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TableOptions":
        """Return the options for plain values. Names that this version does not know are ignored.

        Args:
            values: What ``to_dict`` returned.
        """
        known = {item.name for item in fields(cls)}
        values = {name: value for name, value in values.items() if name in known}
        if "unit" in values:
            values["unit"] = TimeUnit(values["unit"])
        return cls(**values)

    def words(self) -> list[str]:
        """Return the options as words of a command line."""
        words = [
            *(word for part, column in self.columns.items() for word in ("--column", f"{part}={column}")),
            *(word for part, value in self.constants.items() for word in ("--constant", f"{part}={value}")),
            *(word for name in self.attributes for word in ("--attribute", name)),
            *(word for name, phrase in self.phrases.items() for word in ("--phrase", f"{name}={phrase}")),
        ]
        single = {
            "--format": self.format,
            "--names": ",".join(self.names) if self.names else None,
            "--delimiter": "\\t" if self.delimiter == "\t" else self.delimiter,
            "--encoding": self.encoding,
            "--unit": self.unit,
            "--date-format": self.date_format,
            "--pivot-year": self.pivot_year,
            "--earliest": self.earliest,
            "--latest": self.latest,
            "--missing": ",".join(self.missing) or None,
        }
        words += [word for option, value in single.items() if value is not None for word in (option, str(value))]
        return [*words, *(["--merge-names"] if self.merge_names else [])]
