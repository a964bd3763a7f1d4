"""Recipes for files that many people have: where they keep the parts of a fact."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from titer.data.detection.dates import guess_dates
from titer.data.readers.base import Source
from titer.data.readers.delimited import DelimitedFile
from titer.data.readers.expression import Expression
from titer.data.readers.inputs import InputFile
from titer.data.readers.options import TableOptions
from titer.data.readers.sources import open_source
from titer.data.time_unit import TimeUnit
from titer.errors import DataError
from titer.suggestions import suggest

SAMPLE_ROWS = 1000


@dataclass(frozen=True)
class FileFormat:
    """Where the files of one source keep the parts of a fact."""

    title: str
    """What the source is."""
    columns: dict[str, tuple[str, ...]]
    """For each part of a fact the columns that can have it; the first one that exists is used."""
    delimiter: str | None = None
    """What separates two fields."""
    names: dict[int, list[str]] = field(default_factory=dict)
    """Column names by the number of columns, for files without a header row."""
    date_format: str | None = None
    unit: TimeUnit | None = None
    missing: list[str] = field(default_factory=list)
    default_relation: str | None = None
    """The relation of files that have no column for it."""
    detects_dates: bool = False
    """Whether files of this source count time in different ways."""


def _gdelt_columns(version: int) -> list[str]:
    """Return the columns of a GDELT event file: version 2 has the first administrative code of places twice."""
    actors = [
        f"Actor{i}{part}"
        for i in (1, 2)
        for part in ("Code", "Name", "CountryCode", "KnownGroupCode", "EthnicCode", "Religion1Code", "Religion2Code",
                     "Type1Code", "Type2Code", "Type3Code")
    ]  # fmt: skip
    place = ["Type", "FullName", "CountryCode", "ADM1Code", *(["ADM2Code"] if version == 2 else []), "Lat", "Long"]
    return [
        *("GLOBALEVENTID", "SQLDATE", "MonthYear", "Year", "FractionDate"),
        *actors,
        *("IsRootEvent", "EventCode", "EventBaseCode", "EventRootCode", "QuadClass", "GoldsteinScale"),
        *("NumMentions", "NumSources", "NumArticles", "AvgTone"),
        *(f"{who}Geo_{part}" for who in ("Actor1", "Actor2", "Action") for part in (*place, "FeatureID")),
        *("DATEADDED", "SOURCEURL"),
    ]


FORMATS: dict[str, FileFormat] = {
    "gdelt": FileFormat(
        "GDELT event files, version 1 and 2, without a header row",
        {"subject": ("Actor1Name",), "relation": ("EventCode",), "object": ("Actor2Name",), "time": ("SQLDATE",)},
        delimiter="\t",
        names={57: _gdelt_columns(1)[:-1], 58: _gdelt_columns(1), 61: _gdelt_columns(2)},
        date_format="%Y%m%d",
    ),
    "icews": FileFormat(
        "ICEWS coded event data",
        {
            "subject": ("Source Name",),
            "relation": ("Event Text",),
            "object": ("Target Name",),
            "time": ("Event Date",),
        },
        delimiter="\t",
        missing=["NULL"],
    ),
    "polecat": FileFormat(
        "POLECAT event data",
        {
            "subject": ("Actor Name",),
            "relation": ("Event Type",),
            "object": ("Recipient Name",),
            "time": ("Event Date",),
        },
        delimiter="\t",
        missing=["None", "NULL"],
    ),
    "acled": FileFormat(
        "ACLED exports",
        {
            "subject": ("actor1",),
            "relation": ("event_type",),
            "object": ("actor2|country", "actor2"),
            "time": ("event_date",),
        },
    ),
    "wikidata": FileFormat(
        "Results of the Wikidata Query Service with labels, start and end",
        {
            "subject": ("subjectLabel", "itemLabel", "subject", "item"),
            "relation": ("propertyLabel", "relationLabel", "property", "relation"),
            "object": ("objectLabel", "valueLabel", "object", "value"),
            "start": ("start", "startTime", "start_time"),
            "end": ("end", "endTime", "end_time"),
        },
        unit=TimeUnit.YEAR,
    ),
    "tgb": FileFormat(
        "Edge lists of the Temporal Graph Benchmark",
        {
            "subject": ("head", "src", "source", "user_id", "u"),
            "relation": ("relation_type", "relation", "edge_type"),
            "object": ("tail", "dst", "destination", "item_id", "i"),
            "time": ("timestamp", "ts", "time", "day"),
        },
        default_relation="linked to",
        detects_dates=True,
    ),
    "graphiti": FileFormat(
        "Entity edges and entity nodes of Graphiti as JSON lines",
        {
            "subject": ("source_node_name",),
            "relation": ("name",),
            "object": ("target_node_name",),
            "start": ("valid_at|created_at",),
            "end": ("invalid_at|expired_at", "invalid_at"),
        },
        unit=TimeUnit.DAY,
    ),
    "neo4j": FileFormat(
        "JSON lines of the Neo4j procedures apoc.export.json",
        {
            "subject": ("start_node",),
            "relation": ("relationship",),
            "object": ("end_node",),
            "time": ("time", "date", "timestamp", "at", "when", "on"),
            "start": ("start", "from", "since", "valid_from", "start_date"),
            "end": ("end", "to", "until", "valid_to", "end_date"),
        },
        detects_dates=True,
    ),
}


def file_format(name: str) -> FileFormat:
    """Return a format by its name.

    Raises:
        DataError: If there is no such format.
    """
    if name not in FORMATS:
        hint = "".join(f"did you mean {close!r}? " for close in suggest(name, FORMATS))
        raise DataError(f"unknown format {name!r}; {hint}known: {', '.join(FORMATS)}")
    return FORMATS[name]


def open_format(name: str, file: InputFile, options: TableOptions) -> Source:
    """Open a file of a format; files without a header row get the names of their columns."""
    names = options.names
    if names is None and (by_width := file_format(name).names):
        plain = DelimitedFile(file.path, options.delimiter or ",", encoding=options.encoding or "utf-8")
        known = by_width.get(plain.width(), [])
        # Some people add the header row.
        names = None if known[:2] == plain.columns()[:2] else known or None
    return open_source(file.path, names=names, delimiter=options.delimiter, encoding=options.encoding, name=file.name)


def with_date_format(options: TableOptions, source: Source) -> TableOptions:
    """Return the options with the format of dates that the first rows have."""
    timed = next((part for part in ("time", "start", "end") if part in options.columns), None)
    if timed is None or options.date_format is not None or options.unit is not None:
        return options
    guess = guess_dates(source.head(SAMPLE_ROWS).get(options.columns[timed], []))
    if guess is None:
        return options
    return replace(options, date_format=guess.date_format, unit=None if guess.is_integer else guess.unit)


def with_defaults(options: TableOptions, format: FileFormat) -> TableOptions:
    """Return the options with those of a format where none are given; columns are chosen when a file is open."""
    return replace(
        options,
        delimiter=options.delimiter or format.delimiter,
        date_format=options.date_format or format.date_format,
        unit=options.unit or format.unit,
        missing=[*options.missing, *(word for word in format.missing if word not in options.missing)],
    )


def choose_columns(options: TableOptions, format: FileFormat, present: Sequence[str]) -> TableOptions:
    """Return the options with the columns of a format that a file has."""
    given = {*options.columns, *options.constants}
    columns = dict(options.columns)
    for part, candidates in format.columns.items():
        if part not in given and (found := next((text for text in candidates if _fits(text, present)), None)):
            columns[part] = found
    if "time" in columns and not {"start", "end"} <= set(columns):
        columns = {part: column for part, column in columns.items() if part not in ("start", "end") or part in given}
    elif {"start", "end"} <= set(columns) and "time" not in given:
        columns.pop("time", None)
    constants = dict(options.constants)
    if "relation" not in {*columns, *constants} and format.default_relation:
        constants["relation"] = format.default_relation
    return replace(options, columns=columns, constants=constants)


def _fits(text: str, present: Sequence[str]) -> bool:
    try:
        Expression.parse(text, present)
    except DataError:
        return False
    return True
