"""Download TGB datasets into the cache: one archive each, of which the needed files are kept."""

import shutil
import zipfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from titer.data.archives import UNREADABLE
from titer.data.dataset import Dataset
from titer.data.dataset_folder import is_stored_dataset, open_dataset, save_dataset
from titer.data.download import cache_folder, fetch_file
from titer.data.tgb.catalogue import STATIC, TgbBenchmark
from titer.data.tgb.reader import read_names, read_tgb
from titer.errors import DataError
from titer.files import atomic_path, read_sealed_json, sha256_of, write_sealed_json

CHECKSUMS = "checksums.json"
SPACE_LEFT = 1 << 30
"""Bytes that stay free on the disk."""


@dataclass(frozen=True)
class NameFiles:
    """Dictionaries with the names of entities and relations."""

    entities: Path | None = None
    relations: Path | None = None


def download_tgb(
    benchmark: TgbBenchmark,
    *,
    mirror: str | None = None,
    folder: Path | None = None,
    names: NameFiles | None = None,
) -> Path:
    """Fetch a TGB dataset into the cache, check its files, and store it as a dataset folder.

    Files that are already in the cache and unchanged are kept.

    Args:
        benchmark: The dataset.
        mirror: URL of a folder with the archive, instead of the home of TGB.
        folder: A local folder with the archive or its files, instead of a download.
        names: Dictionaries with names to show instead of identifiers.

    Returns:
        The folder in the cache.

    Raises:
        DataError: If a file cannot be fetched or read, or differs from the one that was fetched before.
    """
    target = cache_folder() / benchmark.name
    target.mkdir(parents=True, exist_ok=True)
    known = _known_checksums(target)
    missing = [name for name in benchmark.files if known.get(name) != _checksum(target / name)]
    if missing:
        local = None if folder is None else next(filter(Path.is_dir, (folder / benchmark.name, folder)), folder)
        # Files that are rejected must not replace those of the cache, which evaluations read.
        with ExitStack() as stack:
            places = {name: stack.enter_context(atomic_path(target / name)) for name in missing}
            if local is not None and not (local / benchmark.archive).is_file():
                _copy(local, places)
            else:
                _from_archive(benchmark, target, places, mirror, local)
            sums = {name: sha256_of(path) for name, path in places.items()}
            _compare(target, known, sums)
        known |= sums
        write_sealed_json(target / CHECKSUMS, {"files": known})
    if missing or names is not None or not downloaded_tgb(benchmark):
        _store(benchmark, target, names or NameFiles())
    return target


def downloaded_tgb(benchmark: TgbBenchmark) -> Path | None:
    """Return the folder of a dataset that was downloaded completely, or None."""
    folder = cache_folder() / benchmark.name
    return folder if all(is_stored_dataset(folder / name) for name in _folders(benchmark)) else None


def load_tgb(benchmark: TgbBenchmark, *, static: bool = False) -> Dataset:
    """Open a downloaded dataset.

    Args:
        benchmark: The dataset.
        static: Whether to include its static facts.

    Raises:
        DataError: If it is not downloaded, or has no static facts.
    """
    folder = downloaded_tgb(benchmark)
    if folder is None:
        raise DataError(f"{benchmark.name} is not downloaded; run: titer data download {benchmark.name}")
    if static and not benchmark.has_static:
        raise DataError(f"{benchmark.name} has no static facts; leave out {STATIC!r}")
    return open_dataset(folder / ("dataset-static" if static else "dataset"))


def _folders(benchmark: TgbBenchmark) -> list[str]:
    return ["dataset", *(["dataset-static"] if benchmark.has_static else [])]


def _store(benchmark: TgbBenchmark, target: Path, names: NameFiles) -> None:
    entities = read_names(names.entities) if names.entities else None
    relations = read_names(names.relations) if names.relations else None
    for name in _folders(benchmark):
        static = name != "dataset"
        dataset = read_tgb(target, static=static, entity_names=entities, relation_names=relations)
        save_dataset(dataset, target / name, overwrite=True)


def _from_archive(
    benchmark: TgbBenchmark, target: Path, places: dict[str, Path], mirror: str | None, local: Path | None
) -> None:
    """Extract files of the archive to their places."""
    if local is not None:
        archive, checked = local / benchmark.archive, benchmark.sha256
        if checked is not None and sha256_of(archive) != checked:
            raise DataError(f"{archive} is not the benchmark's file: its SHA-256 is not {checked}")
        _extract(archive, places)
        return
    url = mirror.rstrip("/") + "/" if mirror else benchmark.home
    archive = target / benchmark.archive
    archive.unlink(missing_ok=True)
    fetch_file(url, benchmark.archive, benchmark.sha256, target)
    try:
        _extract(archive, places)
    finally:
        archive.unlink(missing_ok=True)


def _extract(archive: Path, places: dict[str, Path]) -> None:
    try:
        with zipfile.ZipFile(archive) as content:
            # The files may be in a folder of the archive; no path of the archive is used.
            members = {Path(info.filename).name: info for info in content.infolist() if not info.is_dir()}
            if absent := [name for name in places if name not in members]:
                raise DataError(f"{archive} has no {', '.join(absent)}")
            needed = sum(members[name].file_size for name in places)
            free = min(shutil.disk_usage(path.parent).free for path in places.values()) - SPACE_LEFT
            if needed > free:
                sizes = f"{needed / 1e9:.1f} GB of disk space, but {max(free, 0) / 1e9:.1f} GB are free"
                raise DataError(f"{archive} needs {sizes}")
            for name, path in places.items():
                # Reading stops at the size that was checked, and checks the CRC-32 at the end.
                with content.open(members[name]) as source, path.open("wb") as file:
                    shutil.copyfileobj(source, file, 1 << 20)
    except UNREADABLE as error:
        raise DataError(f"{archive} is not a readable archive: {error}") from error


def _copy(folder: Path, places: dict[str, Path]) -> None:
    for name, path in places.items():
        if not (folder / name).is_file():
            raise DataError(f"{folder / name}: no such file")
        shutil.copyfile(folder / name, path)


def _compare(target: Path, known: dict[str, str], found: dict[str, str]) -> None:
    for name, value in found.items():
        if known.get(name, value) != value:
            raise DataError(
                f"{name} differs from the file that was downloaded before: its SHA-256 is {value}, not {known[name]}; "
                f"to accept the new one, delete {target}"
            )


def _known_checksums(target: Path) -> dict[str, str]:
    try:
        return dict(read_sealed_json(target / CHECKSUMS)["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _checksum(path: Path) -> str:
    return sha256_of(path) if path.is_file() else ""
