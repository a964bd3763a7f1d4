"""Import files with dated facts as a dataset."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from titer.data.dataset import Dataset
from titer.data.dataset_folder import is_stored_dataset, save_dataset
from titer.data.facts import Facts
from titer.data.readers.benchmark import read_benchmark
from titer.data.readers.rejections import Rejections
from titer.data.readers.tables import TableOptions, read_tables
from titer.data.split import Splits, split_by_fraction, split_by_time
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.errors import DataError
from titer.files import atomic_path
from titer.suggestions import suggest

FRACTIONS = (0.8, 0.1, 0.1)


@dataclass(frozen=True)
class SplitOptions:
    """Where to split facts into train, valid and test. A time step is never split."""

    fractions: tuple[float, float, float] = FRACTIONS
    """Shares of train, valid and test."""
    valid_from: str | None = None
    """First date of the validation split; used with ``test_from``, instead of shares."""
    test_from: str | None = None
    """First date of the test split."""

    def split(self, facts: Facts, axis: TimeAxis) -> Splits:
        """Return the training, validation and test facts."""
        if (self.valid_from is None) != (self.test_from is None):
            raise DataError("give the first dates of both valid and test, or of neither")
        if self.valid_from is not None and self.test_from is not None:
            return split_by_time(facts, axis.step(self.valid_from), axis.step(self.test_from))
        return split_by_fraction(facts, self.fractions)


@dataclass(frozen=True)
class Imported:
    """An imported dataset, and the rows that are not in it."""

    dataset: Dataset
    num_blank: int = 0
    """Number of empty rows."""
    num_outside: int = 0
    """Number of rows outside the dates to keep."""
    rejections: Rejections = field(default_factory=Rejections)
    """Rows that could not be read."""
    rejected_file: Path | None = None
    """The file with the rejected rows, if one was written."""


def import_dataset(
    files: str | Path | Sequence[str | Path],
    out: str | Path | None = None,
    *,
    name: str | None = None,
    columns: Mapping[str, str] | None = None,
    names: Sequence[str] | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    unit: TimeUnit | str | None = None,
    date_format: str | None = None,
    earliest: str | None = None,
    latest: str | None = None,
    split: tuple[float, float, float] = FRACTIONS,
    valid_from: str | None = None,
    test_from: str | None = None,
    skip_bad_rows: bool = False,
    rejected_file: str | Path | None = None,
    overwrite: bool = False,
) -> Dataset:
    """Import files with dated facts as a dataset.

    CSV, TSV, Parquet, Feather and JSON lines are read. A file has the columns subject, relation, object and time, or
    start and end instead of time for facts that last.

    Example:
        >>> dataset = import_dataset("events.csv", columns={"subject": "who", "time": "when"}, unit="week")

    Args:
        files: One or several files with the same columns, or one folder in the benchmark format.
        out: A folder to save the dataset in. Without it, the dataset is only in memory.
        name: The name of the dataset; by default the name of ``out`` or of the first file.
        columns: The column for each part of a fact (subject, relation, object, time, start, end) if its name differs.
        names: Column names of text files without a header row.
        delimiter: What separates the fields of text files; by default a comma for .csv, a tab for .tsv and .txt.
        encoding: The encoding of text files.
        unit: The length of one time step: hour, day, week, month, year or integer; by default the precision of the
            first date.
        date_format: The format of dates for ``strptime``, such as ``%d.%m.%Y``, if they are not ISO dates.
        earliest: The first date to keep. An unknown start is set to it.
        latest: The last date to keep. An unknown end is set to it.
        split: The shares of the training, validation and test splits. A time step is never split.
        valid_from: The first date of the validation split; used with ``test_from``, instead of ``split``.
        test_from: The first date of the test split.
        skip_bad_rows: Leave out rows that cannot be read, with a warning, instead of raising an error.
        rejected_file: A CSV file for the skipped rows and their reasons; by default ``OUT.rejected.csv`` with ``out``,
            and none without.
        overwrite: Replace ``out`` and ``rejected_file`` if they exist.

    Returns:
        The dataset.

    Raises:
        DataError: If a row, a file or an option cannot be used, or ``out`` exists.
    """
    paths = [Path(files)] if isinstance(files, str | Path) else [Path(file) for file in files]
    options = TableOptions(
        columns=dict(columns or {}),
        names=list(names) if names is not None else None,
        delimiter=delimiter,
        encoding=encoding,
        unit=_unit(unit),
        date_format=date_format,
        earliest=earliest,
        latest=latest,
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
    )
    if imported.rejections:
        listed = f"see {imported.rejected_file}; first" if imported.rejected_file else "first"
        first = imported.rejections.problems[0]
        warnings.warn(f"rows skipped: {len(imported.rejections):,}; {listed}: {first}", stacklevel=2)
    return imported.dataset


def import_files(
    files: list[Path],
    out: Path | None,
    *,
    name: str | None = None,
    options: TableOptions | None = None,
    splits: SplitOptions | None = None,
    skip_bad_rows: bool = False,
    rejected_file: Path | None = None,
    overwrite: bool = False,
) -> Imported:
    """Import files, and report which rows were left out.

    The dataset is saved in ``out`` only if everything could be read, or bad rows are skipped. Skipped rows are then
    written to ``rejected_file`` (by default beside ``out``) with their reasons.
    """
    if not files:
        raise DataError("no files to import")
    _check_targets(files, out, rejected_file, overwrite=overwrite)
    rejections = Rejections(skip=skip_bad_rows)
    num_outside = 0
    if len(files) == 1 and files[0].is_dir():
        if (options or TableOptions()) != TableOptions() or (splits or SplitOptions()) != SplitOptions():
            raise DataError(f"{files[0]} is a folder with its own splits and ids; options for tables do not apply")
        dataset = read_benchmark(files[0], rejections, name)
    else:
        table = read_tables(files, options or TableOptions(), rejections)
        parts = (splits or SplitOptions()).split(table.facts, table.axis)
        default_name = out.resolve().name if out is not None else files[0].name.partition(".")[0]
        dataset = Dataset(name or default_name, table.vocabulary, table.axis, *parts)
        num_outside = table.num_outside
    rejected = _save(dataset, out, rejections, rejected_file, overwrite=overwrite)
    return Imported(dataset, rejections.num_blank, num_outside, rejections, rejected)


def _unit(unit: TimeUnit | str | None) -> TimeUnit | None:
    try:
        return TimeUnit(unit) if unit is not None else None
    except ValueError:
        known = [str(known) for known in TimeUnit]
        hint = "".join(f"did you mean {close!r}?" for close in suggest(str(unit), known))
        raise DataError(f"unknown time unit {unit!r}; {hint or 'known: ' + ', '.join(known)}") from None


def _check_targets(files: list[Path], out: Path | None, rejected_file: Path | None, *, overwrite: bool) -> None:
    """Raise an error if writing would destroy a file that is not to be overwritten."""
    if out is not None and out.exists():
        if not overwrite:
            raise DataError(f"{out} already exists; choose another path or pass overwrite")
        if not is_stored_dataset(out):
            raise DataError(f"{out} is not a dataset folder; only a dataset folder can be overwritten")
    if rejected_file is not None:
        if rejected_file.is_dir() or (rejected_file.exists() and not overwrite):
            raise DataError(f"{rejected_file} already exists; choose another path for rejected rows")
        if rejected_file.resolve() in {path.resolve() for path in (*files, *([out] if out is not None else []))}:
            raise DataError(f"{rejected_file} cannot be the file for rejected rows: it is an input or the output")


def _save(
    dataset: Dataset, out: Path | None, rejections: Rejections, rejected_file: Path | None, *, overwrite: bool
) -> Path | None:
    """Save the dataset and the rejected rows; return the file with the rejected rows, if there is one."""
    if rejected_file is None and out is not None:
        rejected_file = out.with_name(f"{out.name}.rejected.csv")
    if not rejections or rejected_file is None:
        if out is not None:
            save_dataset(dataset, out, overwrite=overwrite)
        return None
    with atomic_path(rejected_file) as temporary:
        rejections.write(temporary)
        if out is not None:
            save_dataset(dataset, out, overwrite=overwrite)
    return rejected_file
