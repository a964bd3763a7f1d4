"""The steps of an import: open, read or propose, check, and save."""

import filecmp
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from titer.data.attributes import Attributes
from titer.data.dataset import Dataset
from titer.data.dataset_folder import is_stored_dataset, save_dataset
from titer.data.detection.proposal import ProposalError, propose
from titer.data.facts import Facts
from titer.data.import_checks import MAX_EXPANDED, check_table
from titer.data.readers.benchmark import is_benchmark_folder, read_benchmark
from titer.data.readers.inputs import default_name, open_inputs
from titer.data.readers.merging import MergedName
from titer.data.readers.options import TableOptions
from titer.data.readers.rejected_rows import has_rejected_rows
from titer.data.readers.rejections import Rejections
from titer.data.readers.tables import Table, read_tables
from titer.data.split import Splits, split_by_fraction, split_by_time
from titer.data.time_axis import TimeAxis
from titer.errors import DataError
from titer.files import atomic_path

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

    def split(self, facts: Facts, axis: TimeAxis, options: TableOptions | None = None) -> Splits:
        """Return the training, validation and test facts; dates may be written as in the files."""
        if (self.valid_from is None) != (self.test_from is None):
            raise DataError("give the first dates of both valid and test, or of neither")
        if self.valid_from is not None and self.test_from is not None:
            date = (options or TableOptions()).date
            return split_by_time(facts, axis.step(date(self.valid_from)), axis.step(date(self.test_from)))
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
    merged: list[MergedName] = field(default_factory=list)
    """Names with several spellings that were joined."""
    warnings: list[str] = field(default_factory=list)
    """What may be wrong with the dataset, with the options to change it."""
    rejected_file: Path | None = None
    """The file with the rejected rows, if one was written."""


def import_files(
    files: Sequence[str | Path],
    out: Path | None,
    *,
    name: str | None = None,
    options: TableOptions | None = None,
    splits: SplitOptions | None = None,
    skip_bad_rows: bool = False,
    rejected_file: Path | None = None,
    overwrite: bool = False,
    accept: bool = False,
    query: str | None = None,
) -> Imported:
    """Import files, and report which rows were left out.

    The dataset is saved in ``out`` only if everything could be read, or bad rows are skipped. Skipped rows are then
    written to ``rejected_file`` (by default beside ``out``) with their reasons.

    Raises:
        ProposalError: If the options do not describe the files, but others do, and ``accept`` is not set.
        DataError: If the files cannot be imported.
    """
    if not files:
        raise DataError("no files to import")
    options, splits = options or TableOptions(), splits or SplitOptions()
    rejections = Rejections(skip=skip_bad_rows)
    keep_list = rejected_file is not None and not overwrite
    if query is None and len(files) == 1 and is_benchmark_folder(folder := Path(files[0])):
        if options != TableOptions() or splits != SplitOptions():
            raise DataError(f"{folder} is a folder with its own splits and ids; options for tables do not apply")
        rejected_file = _check_targets([folder], out, rejected_file, overwrite=overwrite)
        dataset = read_benchmark(folder, rejections, name)
        rejected = _save(dataset, out, rejections, rejected_file, overwrite=overwrite, keep_list=keep_list)
        return Imported(dataset, rejections.num_blank, 0, rejections, rejected_file=rejected)
    if stored := next((one for one in files if query is None and is_stored_dataset(Path(one))), None):
        raise DataError(f"{stored} is a dataset already; titer data export writes its facts to a file")
    with open_inputs(files, query) as inputs:
        rejected_file = _check_targets([file.path for file in inputs], out, rejected_file, overwrite=overwrite)
        limit = None if accept else MAX_EXPANDED
        try:
            table = read_tables(inputs, options, rejections, max_facts=limit)
        except DataError as error:
            proposal = propose(inputs, options)
            if proposal is None:
                raise
            if not accept:
                raise ProposalError(error, proposal) from error
            options, rejections = proposal.options, Rejections(skip=skip_bad_rows)
            table = read_tables(inputs, options, rejections, max_facts=limit)
        name = name or (out.resolve().name if out is not None else default_name(files))
        dataset = dataset_of(table, name, options, splits)
        found = check_table(table, options, accept=accept)
        rejected = _save(dataset, out, rejections, rejected_file, overwrite=overwrite, keep_list=keep_list)
        merged = table.merged if options.merge_names else []
        return Imported(dataset, rejections.num_blank, table.num_outside, rejections, merged, found, rejected)


def dataset_of(table: Table, name: str, options: TableOptions, splits: SplitOptions) -> Dataset:
    """Return the dataset of a table."""
    return Dataset(
        name,
        table.vocabulary,
        table.axis,
        *splits.split(table.facts, table.axis, options),
        mapping=table.options,
        attributes=Attributes.of(table.attributes) if table.attributes else None,
    )


def _check_targets(inputs: list[Path], out: Path | None, rejected_file: Path | None, *, overwrite: bool) -> Path | None:
    """Raise an error if writing would destroy a file; return the file for rejected rows."""
    if out is not None and out.exists():
        if not overwrite:
            raise DataError(f"{out} already exists; choose another path or pass overwrite")
        if not is_stored_dataset(out):
            raise DataError(f"{out} is not a dataset folder; only a dataset folder can be overwritten")
    taken = {path.resolve() for path in (*inputs, *([out] if out is not None else []))}
    if rejected_file is not None:
        # One that has rejected rows may be that of the same import, killed before its end: see ``_save``.
        if rejected_file.is_dir() or (
            rejected_file.exists() and not overwrite and not has_rejected_rows(rejected_file)
        ):
            raise DataError(f"{rejected_file} already exists; choose another path for rejected rows")
        if rejected_file.resolve() in taken:
            raise DataError(f"{rejected_file} cannot be the file for rejected rows: it is an input or the output")
        return rejected_file
    if out is None:
        return None
    default = out.with_name(f"{out.name}.rejected.csv")
    if default.resolve() in taken:  # repaired rows are imported again; those that are still wrong go to another file
        default = out.with_name(f"{out.name}.rejected-again.csv")
    return default


def _save(
    dataset: Dataset,
    out: Path | None,
    rejections: Rejections,
    rejected_file: Path | None,
    *,
    overwrite: bool,
    keep_list: bool,
) -> Path | None:
    """Save the dataset and the rejected rows; return the file with the rejected rows, if there is one."""
    if not rejections or rejected_file is None:
        if out is not None:
            save_dataset(dataset, out, overwrite=overwrite)
        return None
    with atomic_path(rejected_file) as temporary:
        rejections.write(temporary)
        if keep_list and rejected_file.exists() and not filecmp.cmp(temporary, rejected_file, shallow=False):
            raise DataError(f"{rejected_file} already exists; choose another path for rejected rows")
    # Last, so that an import that was killed can be repeated and its list is never missing.
    if out is not None:
        save_dataset(dataset, out, overwrite=overwrite)
    return rejected_file
