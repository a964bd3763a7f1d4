"""Downloads from a folder and from a mirror, over real connections to this machine."""

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from commands import titer
from data.samples import BENCHMARK, write_benchmark
from titer.cli.main import app
from titer.data import resuming
from titer.data.benchmarks import BENCHMARKS, FILES, Benchmark, download, downloaded
from titer.data.load import load_dataset
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.errors import DataError

TRAIN = BENCHMARK["train.txt"].encode()


class Mirror(ThreadingHTTPServer):
    """Serves files from memory, and fails as it is told to."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {f"/TOY/{name}": text.encode() for name, text in BENCHMARK.items()}
        self.cut_after: dict[str, int] = {}  # bytes of the next answer for a file
        self.knows_ranges = True
        self.hangs = False
        self.chunked = False
        self.woken = threading.Event()
        self.requests: list[tuple[str, str | None]] = []
        self.sent: Counter[str] = Counter()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/TOY"

    def requests_for(self, name: str) -> list[str | None]:
        return [wanted for path, wanted in self.requests if path == f"/TOY/{name}"]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is part of the game."""


class Handler(BaseHTTPRequestHandler):
    server: Mirror  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.requests.append((self.path, wanted))
        if self.server.hangs:
            self.server.woken.wait(20)
            return
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.server.knows_ranges else 0
        if start and start >= len(content):
            self.send_error(416)
            return
        rest = content[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header(
            *(("Transfer-Encoding", "chunked") if self.server.chunked else ("Content-Length", str(len(rest))))
        )
        self.end_headers()
        rest = rest[: self.server.cut_after.pop(self.path, len(rest))]
        self.server.sent[self.path.rpartition("/")[2]] += len(rest)
        if self.server.chunked:
            self.wfile.write(b"%x\r\n" % (len(rest) + 1))  # and the rest never comes
        self.wfile.write(rest)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads this."""


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with Mirror() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.woken.set()
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TITER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
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


def test_every_benchmark_knows_its_files_and_where_they_live():
    assert set(BENCHMARKS) == {"ICEWS14", "ICEWS18", "WIKI", "YAGO"}
    for benchmark in BENCHMARKS.values():
        assert set(benchmark.sha256) == set(FILES)
        assert all(len(value) == 64 for value in benchmark.sha256.values())
        assert benchmark.home.startswith("https://")
        assert benchmark.home.endswith(f"/{benchmark.name}/")


def test_a_mirror_fills_the_cache(toy: Benchmark, mirror: Mirror, cache: Path):
    assert downloaded(toy) is None
    assert download(toy, mirror=mirror.url) == cache
    assert content(cache) == BENCHMARK
    assert downloaded(toy) == cache
    assert sorted(mirror.requests) == sorted((f"/TOY/{name}", None) for name in FILES)


@pytest.mark.parametrize("ending", ["", "/"])
def test_the_command_downloads_and_then_the_name_is_known(mirror: Mirror, toy: Benchmark, cache: Path, ending: str):
    assert "titer data download TOY" in titer("data", "list")
    assert titer("data", "download", "toy", "--mirror", mirror.url + ending) == f"TOY is in {cache}\n"
    assert titer("data", "info", "TOY").startswith("TOY: 2014-01-01 to 2014-01-05, time unit: day")
    assert str(cache) in titer("data", "list")
    assert len(load_dataset("toy").train) == toy.facts[0]


def test_the_home_of_a_benchmark_is_asked_without_a_mirror(toy: Benchmark, mirror: Mirror, cache: Path):
    at_home = Benchmark(toy.name, f"{mirror.url}/", toy.facts, toy.axis, toy.raw_axis, toy.sha256)
    assert content(download(at_home)) == BENCHMARK


def test_what_is_in_the_cache_is_not_fetched_again(toy: Benchmark, mirror: Mirror):
    download(toy, mirror=mirror.url)
    mirror.requests.clear()
    download(toy, mirror=mirror.url)
    assert mirror.requests == []


def test_a_damaged_file_in_the_cache_is_fetched_again(toy: Benchmark, mirror: Mirror, cache: Path):
    download(toy, mirror=mirror.url)
    mirror.requests.clear()
    (cache / "valid.txt").write_text("0\t0\t1\t73\n")
    download(toy, mirror=mirror.url)
    assert mirror.requests == [("/TOY/valid.txt", None)]
    assert content(cache) == BENCHMARK


@pytest.mark.parametrize("arrived", [1, 13, len(TRAIN) - 1])
def test_a_broken_download_goes_on_where_it_stopped(toy: Benchmark, mirror: Mirror, cache: Path, arrived: int):
    mirror.cut_after["/TOY/train.txt"] = arrived
    with pytest.raises(
        DataError, match=f"the connection ended after {arrived} of {len(TRAIN)} bytes; the same command"
    ):
        download(toy, mirror=mirror.url)
    assert not (cache / "train.txt").exists()
    assert downloaded(toy) is None
    download(toy, mirror=mirror.url)
    assert mirror.requests_for("train.txt") == [None, f"bytes={arrived}-"]
    assert mirror.sent["train.txt"] == len(TRAIN)
    assert content(cache) == BENCHMARK


def test_a_download_that_breaks_twice_still_fetches_every_byte_once(toy: Benchmark, mirror: Mirror, cache: Path):
    for cut in (5, 4):
        mirror.cut_after["/TOY/train.txt"] = cut
        with pytest.raises(DataError, match="could not be downloaded"):
            download(toy, mirror=mirror.url)
    download(toy, mirror=mirror.url)
    assert mirror.requests_for("train.txt") == [None, "bytes=5-", "bytes=9-"]
    assert mirror.sent["train.txt"] == len(TRAIN)
    assert content(cache) == BENCHMARK


def test_a_mirror_that_knows_no_ranges_is_asked_for_the_whole_file(toy: Benchmark, mirror: Mirror, cache: Path):
    mirror.knows_ranges = False
    mirror.cut_after["/TOY/train.txt"] = 7
    with pytest.raises(DataError, match="could not be downloaded"):
        download(toy, mirror=mirror.url)
    download(toy, mirror=mirror.url)
    assert mirror.sent["train.txt"] == 7 + len(TRAIN)
    assert content(cache) == BENCHMARK


def test_a_file_that_had_arrived_whole_is_taken_as_it_is(toy: Benchmark, mirror: Mirror, cache: Path):
    cache.mkdir(parents=True)
    (cache / "train.txt.part").write_bytes(TRAIN)
    download(toy, mirror=mirror.url)
    assert mirror.requests_for("train.txt") == [f"bytes={len(TRAIN)}-"]
    assert mirror.sent["train.txt"] == 0
    assert content(cache) == BENCHMARK


def test_the_rest_of_another_file_is_noticed_and_fetched_anew(toy: Benchmark, mirror: Mirror, cache: Path):
    cache.mkdir(parents=True)
    (cache / "train.txt.part").write_bytes(b"something else")
    download(toy, mirror=mirror.url)
    assert mirror.requests_for("train.txt") == ["bytes=14-", None]
    assert content(cache) == BENCHMARK


def test_a_wrong_file_is_refused_after_few_attempts_and_not_kept(toy: Benchmark, mirror: Mirror, cache: Path):
    mirror.files["/TOY/train.txt"] = TRAIN.replace(b"24", b"25")
    started = time.monotonic()
    with pytest.raises(DataError, match=r"train\.txt is not the benchmark's file: .*hash") as caught:
        download(toy, mirror=mirror.url)
    assert toy.sha256["train.txt"] in str(caught.value)
    assert len(mirror.requests) <= 3
    assert time.monotonic() - started < 20
    assert list(cache.iterdir()) == []


def test_a_file_that_the_mirror_does_not_have_is_named(toy: Benchmark, mirror: Mirror):
    del mirror.files["/TOY/stat.txt"]
    with pytest.raises(DataError, match=rf"{mirror.url}/stat.txt could not be downloaded: HTTP Error 404"):
        download(toy, mirror=mirror.url)
    assert len(mirror.requests_for("stat.txt")) == 1


def test_a_mirror_that_does_not_answer_is_given_up(toy: Benchmark, mirror: Mirror, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resuming, "TIMEOUT_SECONDS", 0.2)
    mirror.hangs = True
    started = time.monotonic()
    with pytest.raises(DataError, match="could not be downloaded: .*timed out"):  # noqa: RUF043
        download(toy, mirror=mirror.url)
    assert len(mirror.requests) == 1
    assert time.monotonic() - started < 10


def test_an_answer_that_breaks_off_without_a_length_is_an_error_too(toy: Benchmark, mirror: Mirror):
    mirror.chunked = True
    with pytest.raises(DataError, match="could not be downloaded"):
        download(toy, mirror=mirror.url)


@pytest.mark.parametrize("mirror_url", ["http://127.0.0.1:9", "no-url", "http://127.0.0.1:9/with blank"])
def test_a_mirror_that_cannot_be_reached_is_named(toy: Benchmark, mirror_url: str):
    started = time.monotonic()
    with pytest.raises(DataError, match=f"{mirror_url}/train.txt could not be downloaded"):
        download(toy, mirror=mirror_url)
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("inside", [True, False])
def test_a_local_folder_is_copied_with_or_without_its_name(toy: Benchmark, tmp_path: Path, cache: Path, inside: bool):
    folder = write_benchmark(tmp_path / "disk" / ("TOY" if inside else ""))
    shown = titer("data", "download", "TOY", "--from", folder.parent if inside else folder)
    assert shown == f"{toy.name} is in {cache}\n"
    assert content(cache) == BENCHMARK
    assert content(folder) == BENCHMARK


def test_what_is_in_the_cache_is_not_copied_again(toy: Benchmark, tmp_path: Path, cache: Path):
    folder = write_benchmark(tmp_path / "disk")
    download(toy, folder=folder)
    (folder / "train.txt").unlink()
    assert download(toy, folder=folder) == cache


def test_a_wrong_file_in_a_local_folder_is_refused(toy: Benchmark, tmp_path: Path, cache: Path):
    folder = write_benchmark(tmp_path / "disk", valid="0\t0\t1\t73\n")
    with pytest.raises(
        DataError, match=f"valid.txt is not the benchmark's file: its SHA-256 is not {toy.sha256['valid.txt']}"
    ):
        download(toy, folder=folder)
    assert not (cache / "valid.txt").exists()
    assert downloaded(toy) is None


def test_a_file_missing_from_a_local_folder_is_named(toy: Benchmark, tmp_path: Path):
    folder = write_benchmark(tmp_path / "disk", stat=None)
    with pytest.raises(DataError, match=r"stat\.txt: there is no such file"):
        download(toy, folder=folder)


def test_a_benchmark_that_does_not_exist_is_refused_with_those_that_do():
    result = CliRunner().invoke(app, ["data", "download", "ICEWS05"])
    assert str(result.exception) == "unknown benchmark 'ICEWS05'; choose from ICEWS14, ICEWS18, WIKI, YAGO"


def test_the_cache_is_the_users_unless_the_environment_names_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    from titer.data.benchmarks import cache_folder

    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("TITER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder().name == "titer"
    assert cache_folder().is_relative_to(tmp_path)
