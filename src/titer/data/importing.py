"""Import files and data frames with dated facts as a dataset."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from titer.data.dataset import Dataset
from titer.data.detection.proposal import ProposalError, propose_table
from titer.data.import_checks import MAX_EXPANDED, check_table
from titer.data.import_files import FRACTIONS, Imported, SplitOptions, dataset_of, import_files
from titer.data.readers.arrow import ArrowTable
from titer.data.readers.frames import to_arrow
from titer.data.readers.options import TableOptions
from titer.data.readers.rejections import Rejections
from titer.data.readers.tables import Table, TableReader
from titer.data.time_unit import TimeUnit
from titer.errors import DataError
from titer.suggestions import suggest


def import_dataset(
    files: str | Path | Sequence[str | Path],
    out: str | Path | None = None,
    *,
    name: str | None = None,
    columns: Mapping[str, str] | None = None,
    constants: Mapping[str, str] | None = None,
    format: str | None = None,
    query: str | None = None,
    names: Sequence[str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    unit: TimeUnit | str | None = None,
    date_format: str | None = None,
    pivot_year: int | None = None,
    earliest: str | None = None,
    latest: str | None = None,
    missing: Sequence[str] = (),
    merge_names: bool = False,
    attributes: Sequence[str] = (),
    phrases: Mapping[str, str] | None = None,
    split: tuple[float, float, float] = FRACTIONS,
    valid_from: str | None = None,
    test_from: str | None = None,
    skip_bad_rows: bool = False,
    rejected_file: str | Path | None = None,
    overwrite: bool = False,
    accept: bool = False,
) -> Dataset:
    """Import files with dated facts as a dataset.

    CSV, TSV, Parquet, Feather, JSON lines and Excel are read. A file has the columns subject, relation, object and
    time, or start and end instead of time for facts that last. If it has other columns, or dates that are not ISO
    dates, the error proposes options that read it, and ``accept=True`` uses them.

    Example:
        >>> dataset = import_dataset("events.csv", columns={"subject": "who", "time": "when"}, unit="week")

    Args:
        files: One or several files with the same columns, folders or ``.zip`` archives of such files, patterns such as
            ``data/*.csv``, ``"-"`` for standard input, or one folder in the benchmark format.
        out: A folder to save the dataset in. Without it, the dataset is only in memory.
        name: The name of the dataset; by default the name of ``out`` or of the first file.
        columns: The column for each part of a fact (subject, relation, object, time, start, end) if its name differs.
            A column for ``weight`` says how often a fact counts.
            ``"a+b"`` joins two columns with a space, and ``"a|b"`` uses ``b`` where ``a`` has no value.
        constants: Parts of a fact that are the same in all rows, such as ``{"relation": "acquired"}``.
        format: The source of the files, which says where the parts of a fact are: gdelt, icews, polecat, acled,
            wikidata, tgb, graphiti or neo4j.
        query: An SQL query; ``files`` is then the URL of a database, such as ``sqlite:///events.db``.
        names: Column names of text files without a header row.
        delimiter: What separates the fields of text files; by default a comma for .csv, a tab for .tsv and .txt.
        encoding: The encoding of text files; by default UTF-8.
        unit: The length of one time step: hour, day, week, month, quarter, year or integer; by default the precision
            of the first date.
        date_format: The format of dates for ``strptime``, such as ``%d.%m.%Y``, if they are not ISO dates; ``unix`` or
            ``unix_ms`` for seconds or milliseconds since 1970.
        pivot_year: The latest year that a two-digit year can mean; by default 2068.
        earliest: The first date to keep. An unknown start is set to it.
        latest: The last date to keep. An unknown end is set to it.
        missing: Words that mean that there is no value, such as ``["NA", "null"]``.
        merge_names: Join names that differ only in capitalisation and spaces. The most frequent spelling is kept.
        attributes: Further columns to keep; they are shown with the evidence, and no model uses them.
        phrases: How facts of a relation are written as sentences, such as ``{"riot": "rioted against"}``. The object
            follows, or replaces ``{}``.
        split: The shares of the training, validation and test splits. A time step is never split.
        valid_from: The first date of the validation split; used with ``test_from``, instead of ``split``.
        test_from: The first date of the test split.
        skip_bad_rows: Leave out rows that cannot be read, with a warning, instead of raising an error.
        rejected_file: A CSV file for the skipped rows and their reasons; by default ``OUT.rejected.csv`` with ``out``,
            and none without.
        overwrite: Replace ``out`` and ``rejected_file`` if they exist.
        accept: Use the options that were detected, and accept times that look wrong, instead of raising an error.

    Returns:
        The dataset.

    Raises:
        DataError: If a row, a file or an option cannot be used, or ``out`` exists.
    """
    paths = [files] if isinstance(files, str | Path) else list(files)
    options = TableOptions(
        columns=dict(columns or {}),
        constants=dict(constants or {}),
        format=format,
        names=list(names) if names is not None else None,
        delimiter=delimiter,
        encoding=encoding,
        unit=_unit(unit),
        date_format=date_format,
        pivot_year=pivot_year,
        earliest=earliest,
        latest=latest,
        missing=list(missing),
        merge_names=merge_names,
        attributes=list(attributes),
        phrases=dict(phrases or {}),
    )
    imported = import_files(
        paths,
        Path(out) if out is not None else None,
        name=name,
        options=options,
        splits=SplitOptions(split, valid_from, test_from),
        skip_bad_rows=skip_bad_rows,
        rejected_file=Path(rejected_file) if rejected_file is not None else None,
        overwrite=overwrite,
        accept=accept,
        query=query,
    )
    _warn(imported)
    return imported.dataset


def import_frame(
    frame: Any,
    *,
    name: str = "data frame",
    unit: TimeUnit | str | None = None,
    split: tuple[float, float, float] = FRACTIONS,
    valid_from: str | None = None,
    test_from: str | None = None,
    skip_bad_rows: bool = False,
    accept: bool = False,
    **options: Any,
) -> Dataset:
    """Return the dataset of a data frame; the options are those of ``import_dataset`` that do not describe files.

    Raises:
        DataError: If a column is missing, or a row or an option cannot be used.
    """
    known = {field.name for field in fields(TableOptions)} - {"names", "delimiter", "encoding", "format"}
    if unknown := sorted(set(options) - known):
        hint = "".join(f"; did you mean {close!r}?" for close in suggest(unknown[0], known))
        raise DataError(f"unknown option {unknown[0]!r}{hint}")
    content = to_arrow(frame)
    chosen = TableOptions(unit=_unit(unit), **options)
    rejections = Rejections(skip=skip_bad_rows)

    def read(options: TableOptions, rejections: Rejections) -> Table:
        reader = TableReader(options, rejections)
        reader.take(ArrowTable(name, content))
        return reader.table(None if accept else MAX_EXPANDED)

    try:
        table = read(chosen, rejections)
    except DataError as error:
        proposal = propose_table(lambda _: ArrowTable(name, content), chosen)
        if proposal is None:
            raise
        if not accept:
            raise ProposalError(error, proposal) from error
        rejections = Rejections(skip=skip_bad_rows)
        chosen, table = proposal.options, read(proposal.options, rejections)
    dataset = dataset_of(table, name, chosen, SplitOptions(split, valid_from, test_from))
    _warn(Imported(dataset, rejections=rejections, warnings=check_table(table, chosen, accept=accept)), stacklevel=4)
    return dataset


def _warn(imported: Imported, stacklevel: int = 3) -> None:
    """Warn in Python about rows that are left out, and about what may be wrong."""
    if imported.rejections:
        listed = f"see {imported.rejected_file}; first" if imported.rejected_file else "first"
        first = imported.rejections.problems[0]
        warnings.warn(f"rows skipped: {len(imported.rejections):,}; {listed}: {first}", stacklevel=stacklevel)
    for warning in imported.warnings:
        warnings.warn(warning, stacklevel=stacklevel)


def _unit(unit: TimeUnit | str | None) -> TimeUnit | None:
    try:
        return TimeUnit(unit) if unit is not None else None
    except ValueError:
        known = [str(known) for known in TimeUnit]
        hint = "".join(f"did you mean {close!r}?" for close in suggest(str(unit), known))
        raise DataError(f"unknown time unit {unit!r}; {hint or 'known: ' + ', '.join(known)}") from None
