"""From files as people have them to a stored dataset."""

from dataclasses import dataclass, field
from pathlib import Path

from titer.data.dataset import Dataset
from titer.data.dataset_folder import is_stored_dataset, save_dataset
from titer.data.facts import Facts
from titer.data.readers.benchmark import read_benchmark
from titer.data.readers.rejections import Rejections
from titer.data.readers.tables import TableOptions, read_tables
from titer.data.split import Splits, split_by_fraction, split_by_time
from titer.data.time_axis import TimeAxis
from titer.errors import DataError
from titer.files import atomic_path


@dataclass(frozen=True)
class SplitOptions:
    """Where to cut facts into train, valid and test; a cut always falls between two steps."""

    fractions: tuple[float, float, float] = (0.8, 0.1, 0.1)
    """Shares of train, valid and test."""
    valid_from: str | None = None
    """Date at which the valid split begins; together with ``test_from``, in place of shares."""
    test_from: str | None = None
    """Date at which the test split begins."""

    def split(self, facts: Facts, axis: TimeAxis) -> Splits:
        """Cut facts."""
        if (self.valid_from is None) != (self.test_from is None):
            raise DataError("the dates at which valid and test begin go together")
        if self.valid_from is not None and self.test_from is not None:
            return split_by_time(facts, axis.step(self.valid_from), axis.step(self.test_from))
        return split_by_fraction(facts, self.fractions)


@dataclass(frozen=True)
class Imported:
    """A dataset that was just written, and every row that is not in it."""

    dataset: Dataset
    num_blank: int = 0
    """Rows with nothing in them."""
    num_outside: int = 0
    """Rows outside the dates that were asked for."""
    rejections: Rejections = field(default_factory=Rejections)
    """Rows that could not be read."""
    rejected_file: Path | None = None
    """Where the rejected rows were written, if there were any."""


def import_dataset(
    files: list[Path],
    out: Path,
    *,
    name: str | None = None,
    options: TableOptions | None = None,
    splits: SplitOptions | None = None,
    skip_bad_rows: bool = False,
    rejected_file: Path | None = None,
    overwrite: bool = False,
) -> Imported:
    """Read tables of named facts, or one folder in the benchmark format, and store them as a dataset.

    Nothing is written unless everything could be read, or bad rows are to be skipped; those are then written to
    ``rejected_file`` (by default beside the dataset), each with the reason.
    """
    if out.exists() and not overwrite:
        raise DataError(f"{out} already exists; choose another place or pass --overwrite")
    if out.exists() and not is_stored_dataset(out):
        raise DataError(f"{out} is not a stored dataset, and nothing else is overwritten")
    if rejected_file is not None and (rejected_file.is_dir() or (rejected_file.exists() and not overwrite)):
        raise DataError(f"{rejected_file} already exists; choose another place for rejected rows")
    if rejected_file is not None and rejected_file.resolve() in {path.resolve() for path in (*files, out)}:
        raise DataError(f"{rejected_file} cannot take rejected rows: it is read from or written to already")
    rejections = Rejections(skip=skip_bad_rows)
    num_outside = 0
    if len(files) == 1 and files[0].is_dir():
        if (options or TableOptions()) != TableOptions() or (splits or SplitOptions()) != SplitOptions():
            raise DataError(f"{files[0]} is a folder with splits and ids of its own; options for tables do not apply")
        dataset = read_benchmark(files[0], rejections, name)
    else:
        table = read_tables(files, options or TableOptions(), rejections)
        parts = (splits or SplitOptions()).split(table.facts, table.axis)
        dataset = Dataset(name or out.resolve().name, table.vocabulary, table.axis, *parts)
        num_outside = table.num_outside
    rejected = (rejected_file or out.with_name(f"{out.name}.rejected.csv")) if len(rejections) else None
    if rejected is None:
        save_dataset(dataset, out, overwrite=overwrite)
    else:
        with atomic_path(rejected) as temporary:
            rejections.write(temporary)
            save_dataset(dataset, out, overwrite=overwrite)
    return Imported(dataset, rejections.num_blank, num_outside, rejections, rejected)
