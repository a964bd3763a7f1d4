"""Download benchmarks into the cache, and check every file."""

import os
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from titer.data.benchmarks import Benchmark
from titer.errors import DataError
from titer.files import atomic_path, sha256_of
from titer.progress import track

MAX_RETRIES = 2
TIMEOUT_SECONDS = 60


def cache_folder() -> Path:
    """Return the folder for downloads: ``TITER_CACHE``, or the user's cache folder."""
    if chosen := os.environ.get("TITER_CACHE"):
        return Path(chosen)
    try:
        from platformdirs import user_cache_path
    except ModuleNotFoundError:  # training and evaluation do without it, also where they store an index
        return Path.home() / ".cache" / "titer"
    return user_cache_path("titer")


def downloaded(benchmark: Benchmark) -> Path | None:
    """Return the folder of a benchmark that was downloaded completely, or ``None``."""
    folder = cache_folder() / benchmark.name
    return folder if all((folder / name).is_file() for name in benchmark.sha256) else None


def download(benchmark: Benchmark, *, mirror: str | None = None, folder: Path | None = None) -> Path:
    """Fetch the files of a benchmark into the cache, and check their SHA-256.

    Files that are already in the cache and correct are kept.

    Args:
        benchmark: The benchmark.
        mirror: URL of a folder with the files, instead of the benchmark's home.
        folder: A local folder to copy the files from, instead of a download. It holds the files, or a folder with the
            benchmark's name that holds them.

    Returns:
        The folder in the cache.

    Raises:
        DataError: If a file cannot be fetched, or has another SHA-256.
    """
    target = cache_folder() / benchmark.name
    target.mkdir(parents=True, exist_ok=True)
    needed = [name for name, value in benchmark.sha256.items() if not _is_correct(target / name, value)]
    if needed:
        if folder is None:
            fetch = _downloader(benchmark, mirror.rstrip("/") + "/" if mirror else benchmark.home, target)
        else:
            local = folder / benchmark.name if (folder / benchmark.name).is_dir() else folder
            fetch = _copier(benchmark, local, target)
        for name in track(needed, f"downloading {benchmark.name}"):
            fetch(name)
    return target


def _is_correct(path: Path, sha256: str) -> bool:
    return path.is_file() and sha256_of(path) == sha256


def _copier(benchmark: Benchmark, folder: Path, target: Path) -> Callable[[str], None]:
    def fetch(name: str) -> None:
        source, sha256 = folder / name, benchmark.sha256[name]
        if not source.is_file():
            raise DataError(f"{source}: no such file")
        if not _is_correct(source, sha256):
            raise DataError(f"{source} is not the benchmark's file: its SHA-256 is not {sha256}")
        with atomic_path(target / name) as temporary:
            shutil.copyfile(source, temporary)

    return fetch


def _downloader(benchmark: Benchmark, url: str, target: Path) -> Callable[[str], None]:
    return partial(_fetch, url, benchmark.sha256, target)


def fetch_file(url: str, name: str, sha256: str | None, target: Path) -> None:
    """Download one file into a folder.

    Args:
        url: The URL of the folder with the file, with a slash at its end.
        name: The name of the file.
        sha256: Its SHA-256; None if it is not known.
        target: The local folder.

    Raises:
        DataError: If the file cannot be downloaded, or has another SHA-256.
    """
    _fetch(url, {name: sha256}, target, name)


def _fetch(url: str, sha256: Mapping[str, str | None], target: Path, name: str) -> None:
    import pooch

    pooch.get_logger().setLevel("WARNING")
    registry = {key: f"sha256:{value}" if value is not None else None for key, value in sha256.items()}
    # Pooch downloads to a temporary file, and moves it to its place only if the checksum is right.
    files = pooch.create(path=target, base_url=url, registry=registry, retry_if_failed=MAX_RETRIES)

    # The protocol that pooch declares for downloaders does not fit its own.
    downloader: Any = pooch.HTTPDownloader(timeout=TIMEOUT_SECONDS)
    try:
        files.fetch(name, downloader=downloader)
    except OSError as error:  # includes every error of requests
        raise DataError(f"{url}{name} could not be downloaded: {error}") from error
    except ValueError as error:
        raise DataError(f"{url}{name} is not the benchmark's file: {error}") from error
