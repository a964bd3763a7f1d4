"""A dataset by whatever it is called: a folder, a stored dataset, a benchmark's name, or small-world."""

from difflib import get_close_matches
from pathlib import Path

from titer.data.benchmarks import BENCHMARKS, benchmark_named, downloaded, identify
from titer.data.dataset import Dataset
from titer.data.dataset_folder import is_stored_dataset, open_dataset
from titer.data.readers.benchmark import is_benchmark_folder, read_benchmark
from titer.data.small_world import NAME as SMALL_WORLD
from titer.data.small_world import small_world
from titer.errors import DataError, UnknownNameError


def load_dataset(where: str | Path) -> Dataset:
    """Load a dataset from a folder or by name."""
    folder = Path(where)
    if is_stored_dataset(folder):
        return open_dataset(folder)
    if is_stored_dataset(folder / "dataset"):  # a run directory
        return open_dataset(folder / "dataset")
    if is_benchmark_folder(folder):
        return read_benchmark(folder)
    if str(where).lower() == SMALL_WORLD:
        return small_world().dataset
    if benchmark := benchmark_named(str(where)):
        found = downloaded(benchmark)
        if found is None:
            raise DataError(f"{benchmark.name} is not here yet: titer data download {benchmark.name} fetches it")
        if identify(found) != benchmark:
            raise DataError(f"{found} is damaged: titer data download {benchmark.name} mends it")
        return read_benchmark(found)
    if folder.is_file():
        raise DataError(f"{folder} is a file: titer data import {folder} --out DIR makes a dataset of it")
    if folder.is_dir():
        raise DataError(f"{folder} holds neither a stored dataset nor train.txt, valid.txt and test.txt")
    names = [SMALL_WORLD, *BENCHMARKS]
    message = f"{str(where)!r} is neither a folder nor one of {', '.join(names)}"
    raise UnknownNameError(message, get_close_matches(str(where), names, 1, cutoff=0.5))
