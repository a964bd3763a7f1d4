"""Load a dataset by path or by name."""

from pathlib import Path

from titer.data.benchmarks import BENCHMARKS, benchmark_named, identify
from titer.data.dataset import Dataset
from titer.data.dataset_folder import is_stored_dataset, open_dataset
from titer.data.download import downloaded
from titer.data.planted_events import NAME as PLANTED_EVENTS
from titer.data.planted_events import planted_events
from titer.data.readers.benchmark import is_benchmark_folder, read_benchmark
from titer.data.small_world import NAME as SMALL_WORLD
from titer.data.small_world import small_world
from titer.data.tgb.catalogue import STATIC, TGB_BENCHMARKS, tgb_benchmark_named
from titer.data.tgb.download import load_tgb
from titer.data.tgb.reader import read_tgb, tgb_name
from titer.errors import DataError, UnknownNameError
from titer.suggestions import suggest


def load_dataset(where: str | Path) -> Dataset:
    """Load a dataset by path or by name.

    Args:
        where: A dataset folder, a run directory, a folder in the benchmark format, the name of a downloaded benchmark
            (ICEWS14, ICEWS18, WIKI, YAGO, ICEWS14-RE-GCN, tkgl-smallpedia, tkgl-polecat, tkgl-icews or tkgl-wikidata;
            ``tkgl-smallpedia+static`` with static facts), a folder with a TGB edge list, or ``small-world`` or
            ``planted-events``, invented datasets that ship with titer.

    Returns:
        The dataset. Facts of a dataset folder are memory-mapped.

    Raises:
        DataError: If the folder holds no dataset or a damaged one, or the benchmark is not downloaded.
        UnknownNameError: If there is no such folder, and no dataset with this name.
    """
    folder = Path(where)
    if is_stored_dataset(folder):
        return open_dataset(folder)
    if is_stored_dataset(folder / "dataset"):  # a run directory
        return open_dataset(folder / "dataset")
    if is_benchmark_folder(folder):
        return read_benchmark(folder)
    if tgb_name(folder) is not None:
        return read_tgb(folder)
    if str(where).lower() == SMALL_WORLD:
        return small_world().dataset
    if str(where).lower() == PLANTED_EVENTS:
        return planted_events().dataset
    if benchmark := benchmark_named(str(where)):
        found = downloaded(benchmark)
        if found is None:
            raise DataError(f"{benchmark.name} is not downloaded; run: titer data download {benchmark.name}")
        if identify(found) != benchmark:
            raise DataError(f"{found} is damaged; run: titer data download {benchmark.name}")
        return read_benchmark(found)
    if tgb := tgb_benchmark_named(str(where)):
        return load_tgb(tgb, static=str(where).lower().endswith(STATIC))
    if folder.is_file():
        raise DataError(f"{folder} is a file, not a dataset; run: titer data import {folder} --out DIR")
    if folder.is_dir():
        raise DataError(f"{folder} has neither a dataset (dataset.toml) nor train.txt, valid.txt and test.txt")
    names = [SMALL_WORLD, *BENCHMARKS, *TGB_BENCHMARKS]
    message = f"unknown dataset {str(where)!r}: not a folder, and not one of {', '.join(names)}"
    raise UnknownNameError(message, suggest(str(where), names))
