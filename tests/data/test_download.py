"""Downloads from a local folder and from a mirror, over real connections to this machine."""

import hashlib
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from commands import invoke, titer
from data.samples import BENCHMARK, write_benchmark
from titer.data import download as download_module
from titer.data.benchmarks import BENCHMARKS, FILES, Benchmark
from titer.data.download import MAX_RETRIES, cache_folder, download, downloaded
from titer.data.load import load_dataset
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.errors import DataError

TRAIN = BENCHMARK["train.txt"].encode()


class Mirror(ThreadingHTTPServer):
    """A server of files in memory that fails on request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {f"/TOY/{name}": text.encode() for name, text in BENCHMARK.items()}
        self.num_truncated: Counter[str] = Counter()  # how many of the next responses for a file are cut short
        self.hangs = False
        self.stopped = threading.Event()
        self.requests: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/TOY"

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that close the connection."""


class Handler(BaseHTTPRequestHandler):
    server: Mirror  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        self.server.requests.append(self.path.rpartition("/")[2])
        if self.server.hangs:
            self.server.stopped.wait(20)
            return
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.server.num_truncated[self.path] > 0:
            self.server.num_truncated[self.path] -= 1
            content = content[:7]
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with Mirror() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.stopped.set()
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TITER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # pooch waits before it tries again
    return tmp_path / "cache" / "TOY"


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in BENCHMARK.items()}
    axes = TimeAxis(TimeUnit.DAY, "2014-01-01"), TimeAxis(TimeUnit.INTEGER, 0, 24)
    benchmark = Benchmark("TOY", "http://127.0.0.1:9/TOY/", (3, 1, 1), *axes, sums)
    monkeypatch.setitem(BENCHMARKS, "TOY", benchmark)
    return benchmark


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_the_catalogue_has_a_url_and_a_checksum_for_every_file():
    assert set(BENCHMARKS) == {"ICEWS14", "ICEWS18", "WIKI", "YAGO", "ICEWS14-RE-GCN"}
    for benchmark in BENCHMARKS.values():
        assert set(FILES) - set(benchmark.sha256) <= {"stat.txt"}
        assert all(len(value) == 64 for value in benchmark.sha256.values())
        assert re.fullmatch(r"https://.+/data/ICEWS14s?/|https://.+/data/" + benchmark.name + "/", benchmark.home)


def test_the_sizes_tell_benchmarks_apart():
    assert len({benchmark.facts for benchmark in BENCHMARKS.values()}) == len(BENCHMARKS)


def test_a_benchmark_without_a_checksum_of_a_file_does_not_need_it(toy: Benchmark, mirror: Mirror):
    del toy.sha256["stat.txt"]
    assert "stat.txt" not in content(download(toy, mirror=mirror.url))
    assert downloaded(toy) is not None


def test_a_mirror_fills_the_cache(toy: Benchmark, mirror: Mirror, cache: Path):
    assert downloaded(toy) is None
    assert download(toy, mirror=mirror.url) == cache
    assert content(cache) == BENCHMARK
    assert downloaded(toy) == cache
    assert sorted(mirror.requests) == sorted(FILES)


@pytest.mark.parametrize("ending", ["", "/"])
def test_a_downloaded_benchmark_is_loaded_by_name(mirror: Mirror, toy: Benchmark, cache: Path, ending: str):
    assert "titer data download TOY" in titer("data", "list")
    assert titer("data", "download", "toy", "--mirror", mirror.url + ending) == f"TOY is in {cache}\n"
    assert titer("data", "info", "TOY").startswith("TOY: 2014-01-01 to 2014-01-05, time unit: day")
    assert str(cache) in titer("data", "list")
    assert len(load_dataset("toy").train) == toy.facts[0]


def test_files_come_from_the_home_of_a_benchmark_without_a_mirror(toy: Benchmark, mirror: Mirror):
    at_home = Benchmark(toy.name, f"{mirror.url}/", toy.facts, toy.axis, toy.raw_axis, toy.sha256)
    assert content(download(at_home)) == BENCHMARK


def test_files_in_the_cache_are_not_downloaded_again(toy: Benchmark, mirror: Mirror):
    download(toy, mirror=mirror.url)
    mirror.requests.clear()
    download(toy, mirror=mirror.url)
    assert mirror.requests == []


def test_a_damaged_file_in_the_cache_is_downloaded_again(toy: Benchmark, mirror: Mirror, cache: Path):
    download(toy, mirror=mirror.url)
    mirror.requests.clear()
    (cache / "valid.txt").write_text("0\t0\t1\t73\n")
    download(toy, mirror=mirror.url)
    assert mirror.requests == ["valid.txt"]
    assert content(cache) == BENCHMARK


def test_a_truncated_response_is_retried(toy: Benchmark, mirror: Mirror, cache: Path):
    mirror.num_truncated["/TOY/train.txt"] = MAX_RETRIES
    download(toy, mirror=mirror.url)
    assert mirror.requests.count("train.txt") == 1 + MAX_RETRIES
    assert content(cache) == BENCHMARK


def test_a_download_that_fails_leaves_no_partial_file(toy: Benchmark, mirror: Mirror, cache: Path):
    mirror.num_truncated["/TOY/valid.txt"] = 1 + MAX_RETRIES
    with pytest.raises(DataError, match=rf"{mirror.url}/valid\.txt could not be downloaded"):
        download(toy, mirror=mirror.url)
    assert content(cache) == {"train.txt": BENCHMARK["train.txt"]}
    assert downloaded(toy) is None
    download(toy, mirror=mirror.url)
    assert mirror.requests.count("train.txt") == 1
    assert content(cache) == BENCHMARK


def test_a_file_with_another_checksum_is_rejected_and_not_kept(toy: Benchmark, mirror: Mirror, cache: Path):
    mirror.files["/TOY/train.txt"] = TRAIN.replace(b"24", b"25")
    with pytest.raises(DataError, match=r"train\.txt is not the benchmark's file: .*hash") as caught:
        download(toy, mirror=mirror.url)
    assert toy.sha256["train.txt"] in str(caught.value)
    assert len(mirror.requests) == 1 + MAX_RETRIES
    assert list(cache.iterdir()) == []


def test_a_damaged_file_in_the_cache_survives_a_failed_download(toy: Benchmark, mirror: Mirror, cache: Path):
    download(toy, mirror=mirror.url)
    (cache / "train.txt").write_text("damaged")
    mirror.files["/TOY/train.txt"] = b"wrong"
    with pytest.raises(DataError, match="is not the benchmark's file"):
        download(toy, mirror=mirror.url)
    assert content(cache) == BENCHMARK | {"train.txt": "damaged"}


def test_a_file_that_the_mirror_does_not_have_is_named(toy: Benchmark, mirror: Mirror):
    del mirror.files["/TOY/stat.txt"]
    with pytest.raises(DataError, match=rf"{mirror.url}/stat\.txt could not be downloaded: 404"):
        download(toy, mirror=mirror.url)


def test_a_mirror_that_does_not_respond_times_out(toy: Benchmark, mirror: Mirror, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(download_module, "TIMEOUT_SECONDS", 0.1)
    mirror.hangs = True
    with pytest.raises(DataError, match=r"could not be downloaded: .*timed out"):
        download(toy, mirror=mirror.url)
    assert len(mirror.requests) == 1 + MAX_RETRIES


@pytest.mark.parametrize("mirror_url", ["http://127.0.0.1:9", "no-url", "http://127.0.0.1:9/with blank"])
def test_a_mirror_that_cannot_be_reached_is_named(toy: Benchmark, mirror_url: str):
    with pytest.raises(DataError, match=f"{mirror_url}/train.txt could not be downloaded"):
        download(toy, mirror=mirror_url)


@pytest.mark.parametrize("inside", [True, False])
def test_a_local_folder_is_copied_with_or_without_its_name(toy: Benchmark, tmp_path: Path, cache: Path, inside: bool):
    folder = write_benchmark(tmp_path / "disk" / ("TOY" if inside else ""))
    shown = titer("data", "download", "TOY", "--from", folder.parent if inside else folder)
    assert shown == f"{toy.name} is in {cache}\n"
    assert content(cache) == BENCHMARK
    assert content(folder) == BENCHMARK


def test_files_in_the_cache_are_not_copied_again(toy: Benchmark, tmp_path: Path, cache: Path):
    folder = write_benchmark(tmp_path / "disk")
    download(toy, folder=folder)
    (folder / "train.txt").unlink()
    assert download(toy, folder=folder) == cache


def test_a_wrong_file_in_a_local_folder_is_rejected(toy: Benchmark, tmp_path: Path, cache: Path):
    folder = write_benchmark(tmp_path / "disk", valid="0\t0\t1\t73\n")
    with pytest.raises(
        DataError, match=f"valid.txt is not the benchmark's file: its SHA-256 is not {toy.sha256['valid.txt']}"
    ):
        download(toy, folder=folder)
    assert not (cache / "valid.txt").exists()
    assert downloaded(toy) is None


def test_a_file_missing_from_a_local_folder_is_named(toy: Benchmark, tmp_path: Path):
    folder = write_benchmark(tmp_path / "disk", stat=None)
    with pytest.raises(DataError, match=r"stat\.txt: no such file"):
        download(toy, folder=folder)


def test_the_error_for_an_unknown_benchmark_suggests_a_known_one_or_lists_all():
    errors = [str(invoke("data", "download", name).exception) for name in ("ICEWS05", "freebase")]
    assert errors[0] == "unknown benchmark 'ICEWS05'; did you mean 'ICEWS14'?"
    assert all(name in errors[1] for name in BENCHMARKS)


def test_the_cache_is_in_the_users_cache_folder_or_in_titer_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("TITER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder().name == "titer"
    assert cache_folder().is_relative_to(tmp_path)
