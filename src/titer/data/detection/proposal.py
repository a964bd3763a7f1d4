"""Propose how to read a file: detect what no option says, and show the first facts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import pyarrow as pa

from titer.data.detection.columns import guess_columns
from titer.data.detection.dates import DateGuess
from titer.data.detection.layout import Layout, detect_layout
from titer.data.readers.base import Source
from titer.data.readers.inputs import InputFile
from titer.data.readers.json_lines import Records
from titer.data.readers.options import INTERVAL, NAMES, POINT, TableOptions
from titer.data.readers.rejections import Rejections
from titer.data.readers.sources import ARROW, EXCEL, JSON, TEXT, open_source, plain_suffix
from titer.data.readers.tables import Table, TableReader
from titer.data.time_unit import TimeUnit
from titer.errors import DataError, TiterError

SAMPLE_ROWS = 1000
FACTS_SHOWN = 3
MANY_FACTS = 100
"""Facts per row above which a coarser time unit is proposed."""
HEAD_BYTES = 1 << 18
BLOCK_BYTES = 1 << 22
MISSING_WORDS = ("NA", "N/A", "n/a", "#N/A", "NULL", "Null", "null", "NaN", "nan", "None", "none", "-", "--", "\\N")
"""Words that often mean that there is no value."""


@dataclass(frozen=True)
class Proposal:
    """A way to read a file that no option described."""

    options: TableOptions
    """All options, given and detected."""
    understood: list[str]
    """What was detected, one line each."""
    facts: list[str]
    """The first facts, one line each."""
    problems: list[str]
    """Rows of the sample that could not be read, by reason."""
    num_rejected: int
    """Number of these rows."""
    facts_per_row: float
    """How many facts a row is on average: more than 1 for facts that last."""

    def describe(self) -> str:
        """Return what was understood, with the first facts."""
        lines = [f"  {line}" for line in self.understood]
        lines += ["first facts:", *(f"  {fact}" for fact in self.facts)]
        if self.problems:
            lines += ["in the first rows:", *self.problems]
            lines.append("  (--bad-rows skip leaves such rows out; --column object=A|B uses B where A is empty)")
        return "\n".join(lines)


class ProposalError(DataError):
    """A file cannot be read with the given options, but with others.

    Attributes:
        proposal: The options that would read it.
        cause: What is wrong with the given ones.
    """

    def __init__(self, cause: TiterError, proposal: Proposal):
        self.cause = cause
        self.proposal = proposal
        super().__init__(f"{cause}\nthis was understood:\n{proposal.describe()}")


def propose(files: Sequence[InputFile], options: TableOptions) -> Proposal | None:
    """Look at the first file, and return other options that read it; ``None`` if there are none.

    Args:
        files: The files of an import.
        options: The given options, which are kept.
    """
    if options.format is not None:
        return None
    file, understood, detected = files[0], list[str](), options
    try:
        if _is_text(file, options):
            detected = _with_layout(file, options, understood)
    except OSError:
        return None
    stem = Path(file.name).name.partition(".")[0]
    return propose_table(lambda chosen: _open(file, chosen), options, detected, understood, stem)


def propose_table(
    opened: Callable[[TableOptions], Source],
    options: TableOptions,
    detected: TableOptions | None = None,
    understood: list[str] | None = None,
    stem: str = "",
) -> Proposal | None:
    """Return options that read a table better than the given ones, or ``None`` if there are none.

    Args:
        opened: A function that opens the table.
        options: The given options.
        detected: The same with what is known about the layout of a text file.
        understood: What was understood so far.
        stem: The name of the table, which becomes the relation if there is no column for it.
    """
    understood = understood if understood is not None else []
    try:
        detected = detected or options
        found = _with_columns(opened(detected), detected, understood, stem)
        if found is None or found == options:
            return None
        proposal = _tried(opened(found), found, understood)
        if proposal.facts_per_row > MANY_FACTS and found.unit is None:
            understood.append("one time step is a month, since the intervals are long")
            proposal = _tried(opened(found), replace(found, unit=TimeUnit.MONTH), understood)
        if found.encoding == options.encoding and proposal.num_rejected >= _num_rejected(opened, options):
            return None
        return proposal
    except (DataError, OSError):
        return None


def _num_rejected(opened: Callable[[TableOptions], Source], options: TableOptions) -> float:
    """Return how many rows of the sample the given options cannot read."""
    try:
        return _tried(opened(options), options, []).num_rejected
    except DataError:
        return float("inf")


def _is_text(file: InputFile, options: TableOptions) -> bool:
    suffix = plain_suffix(file.path)
    return suffix in TEXT or (suffix not in (*ARROW, *JSON, *EXCEL) and options.delimiter is None)


def _open(file: InputFile, options: TableOptions) -> Source:
    return open_source(
        file.path, names=options.names, delimiter=options.delimiter, encoding=options.encoding, name=file.name
    )


def _with_layout(file: InputFile, options: TableOptions, understood: list[str]) -> TableOptions:
    """Detect encoding, delimiter and header of a text file."""
    head, foreign, line_ends = _read_text(file.path)
    default = TEXT.get(plain_suffix(file.path), "")
    layout: Layout = detect_layout(head, foreign, options.delimiter or default or ",", options.encoding)
    if options.delimiter is None and layout.delimiter != default:
        options = replace(options, delimiter=layout.delimiter)
    if options.encoding is None and layout.encoding != "utf-8":
        options = replace(options, encoding=layout.encoding)
    if options.names is None and not layout.has_header:
        options = replace(options, names=[f"column {i + 1}" for i in range(layout.width)])
    named = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
    header = "with a header row" if options.names is None else "without a header row"
    understood.append(
        f"text in {options.encoding or 'utf-8'}, {layout.width} columns separated by "
        f"{named.get(layout.delimiter, repr(layout.delimiter))}, {header}, {line_ends} line ends"
    )
    return options


def _read_text(path: Path) -> tuple[bytes, bytes, str]:
    """Return the beginning of a file, some text around bytes that are not UTF-8, and the name of its line ends."""
    head, foreign = b"", b""
    with pa.input_stream(str(path), compression="detect") as stream:
        while block := stream.read(BLOCK_BYTES):
            head = head or block[:HEAD_BYTES]
            if len(foreign) < HEAD_BYTES:
                foreign += _foreign(block)
    ends: dict[str, int] = {"CR LF": head.count(b"\r\n"), "LF": head.count(b"\n"), "CR": head.count(b"\r")}
    ends["LF"], ends["CR"] = ends["LF"] - ends["CR LF"], ends["CR"] - ends["CR LF"]
    return head, foreign, max(ends, key=lambda name: ends[name])


def _foreign(block: bytes) -> bytes:
    """Return the surroundings of bytes that are not UTF-8. A character may be cut at both ends of the block."""
    found = b""
    start = 0
    while start < len(block):
        try:
            block[start:].decode("utf-8")
            break
        except UnicodeDecodeError as error:
            place = start + error.start
            if 3 < place < len(block) - 3:
                found += block[max(place - 20, 0) : place + 20] + b"\n"
            start = place + 20
        if len(found) > 5000:
            break
    return found


def _with_columns(source: Source, options: TableOptions, understood: list[str], stem: str) -> TableOptions | None:
    """Detect the columns and the dates; ``None`` if a part of the facts cannot be found."""
    values = source.head(SAMPLE_ROWS)
    given = {**options.columns, **dict.fromkeys(options.constants, "")}
    by_folded = {name.casefold(): name for name in reversed(list(values))}
    plain = {part: by_folded[part] for part in (*NAMES, *POINT, *INTERVAL) if part in by_folded and part not in given}
    missing = {*options.missing, *MISSING_WORDS}
    cleaned = {name: ["" if v.strip() in missing else v for v in column] for name, column in values.items()}
    guess = guess_columns(cleaned, {**plain, **given})
    columns = {part: name for part, name in guess.columns.items() if part not in options.constants}
    constants = dict(options.constants)
    if "relation" not in columns and "relation" not in constants and {"subject", "object"} <= set(columns):
        constants["relation"] = stem.replace("_", " ").replace("-", " ") or "related to"
    present = {*columns, *constants}
    if not set(NAMES) <= present or not ("time" in present or set(INTERVAL) <= present):
        return None
    used = {value.strip() for name in columns.values() for value in values.get(name, [])}
    words = [word for word in MISSING_WORDS if word in used and word not in options.missing]
    understood += [f"{part}: column {name!r}" for part, name in columns.items() if part != name]
    understood += [f"{part}: always {value!r}" for part, value in constants.items() if part not in options.constants]
    understood += [f"no value: {', '.join(map(repr, words))}"] if words else []
    if options.names is not None and all(name.startswith("column ") for name in options.names):
        # Columns without a header are named after what they contain.
        by_name = {name: part for part, name in columns.items()}
        options = replace(options, names=[by_name.get(name, name) for name in options.names])
        columns = {part: part for part in columns}
    changed = {part: name for part, name in columns.items() if part in given or part != name.casefold()}
    options = replace(options, columns=changed, constants=constants, missing=[*options.missing, *words])
    return _with_dates(options, guess.dates, understood)


def _with_dates(options: TableOptions, dates: DateGuess | None, understood: list[str]) -> TableOptions:
    """Add the format of the dates, if none is given."""
    if dates is None or options.date_format is not None or options.unit is not None:
        return options
    if dates.date_format is not None:
        meaning = {"unix": "seconds since 1970", "unix_ms": "milliseconds since 1970"}
        text = f"dates: {meaning.get(dates.date_format, dates.date_format)}"
        if dates.other:
            text += f" (or {dates.other}, which all dates of the sample fit as well)"
        understood.append(text)
        options = replace(options, date_format=dates.date_format)
        if "%y" in dates.date_format and options.pivot_year is None:
            options = replace(options, pivot_year=date.today().year)
    elif dates.unit is not None and not dates.is_integer:
        understood.append(f"dates: one {dates.unit} each")
        options = replace(options, unit=dates.unit)
    return options


def _tried(source: Source, options: TableOptions, understood: list[str]) -> Proposal:
    """Read the sample as proposed."""
    values = source.head(SAMPLE_ROWS)
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    rejections = Rejections(skip=True)
    unlimited = replace(options, earliest=None, latest=None, delimiter=None, encoding=None, names=None)
    reader = TableReader(unlimited, rejections)
    reader.take(Records(source.name, [row for row in rows if any(value.strip() for value in row.values())]))
    table = reader.table()
    facts = _first_facts(table)
    # The sample has no header, blank or malformed rows, so its rows have other numbers than those of the file.
    problems = rejections.summary(with_rows=False)
    return Proposal(options, understood, facts, problems, len(rejections), len(table.facts) / table.num_rows)


def _first_facts(table: Table) -> list[str]:
    """Return the first facts as text; a fact that lasts is shown once, with its first and last time step."""
    entities, relations, axis = table.vocabulary.entities, table.vocabulary.relations, table.axis
    times: dict[tuple[str, str, str], list[int]] = {}
    for s, r, o, t in table.facts:
        names = entities[s], relations[r], entities[o]
        if names in times or len(times) < FACTS_SHOWN:
            times.setdefault(names, []).append(t)
    if not table.lasting:
        rows = (((entities[s], relations[r], entities[o]), axis.label(t)) for s, r, o, t in table.facts)
        facts = list(dict.fromkeys(rows))[:FACTS_SHOWN]  # a weight repeats a fact
    else:
        facts = [(names, f"{axis.label(steps[0])} to {axis.label(steps[-1])}") for names, steps in times.items()]
    return [f"{' | '.join(names)} | {time}" for names, time in facts]
