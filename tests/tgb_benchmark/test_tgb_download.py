"""Downloads of TGB datasets from a mirror on this machine, with generated archives of the same format."""

import io
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from commands import invoke, titer
from tgb_benchmark.generated import dump_candidates, write_tgb
from titer.data.load import load_dataset
from titer.data.tgb import download as downloads
from titer.data.tgb.catalogue import TGB_BENCHMARKS, candidate_file
from titer.data.tgb.download import download_tgb, downloaded_tgb
from titer.errors import DataError
from titer.files import sha256_of

NAME = "tkgl-smallpedia"
BENCHMARK = TGB_BENCHMARKS[NAME]


class Quiet(SimpleHTTPRequestHandler):
    requests: list[str] = []  # noqa: RUF012 shared by all requests

    def do_GET(self) -> None:
        self.requests.append(self.path)
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = write_tgb(tmp_path / "files" / NAME, NAME, static=30)
    for split in ("valid", "test"):
        dump_candidates(folder / candidate_file(NAME, split), {(1910, 1, 1): np.array([1, 2])})
    return folder


def pack(folder: Path, archive: Path, inside: str = "") -> Path:
    archive.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as content:
        for path in folder.iterdir():
            content.write(path, f"{inside}{path.name}")
        content.writestr("../../outside.txt", "never written")
    return archive


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TITER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(Quiet, "requests", [])
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # pooch waits before it tries again
    (tmp_path / "www").mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "www"))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def archive_of(tmp_path: Path) -> Path:
    return tmp_path / "www" / f"{NAME}.zip"


@pytest.mark.parametrize("inside", ["", "tkgl_smallpedia/"])
def test_a_dataset_is_downloaded_and_loaded_by_name(tmp_path: Path, files: Path, mirror: str, inside: str):
    pack(files, archive_of(tmp_path), inside)
    assert f"titer data download {NAME}" in titer("data", "list")
    assert invoke("data", "info", NAME).exception is not None
    folder = tmp_path / "cache" / NAME
    assert titer("data", "download", NAME, "--mirror", mirror) == f"{NAME} is in {folder}\n"
    assert str(folder) in titer("data", "list")
    dataset = load_dataset(NAME)
    assert dataset.facts == load_dataset(files).facts
    assert dataset.folder is not None  # a stored index is kept beside it
    with_static = load_dataset(f"{NAME}+static")
    assert len(with_static.facts) == len(dataset.facts) + 30
    assert not (folder / BENCHMARK.archive).exists()
    assert not list(tmp_path.rglob("outside.txt"))
    assert titer("data", "info", NAME).startswith(f"{NAME}: 1900 to 1919, time unit: year")


def test_unchanged_files_are_not_downloaded_again(tmp_path: Path, files: Path, mirror: str):
    pack(files, archive_of(tmp_path))
    folder = download_tgb(BENCHMARK, mirror=mirror)
    assert len(Quiet.requests) == 1
    download_tgb(BENCHMARK, mirror=mirror)
    assert len(Quiet.requests) == 1
    (folder / f"{NAME}_edgelist.csv").write_text("damaged")
    download_tgb(BENCHMARK, mirror=mirror)
    assert len(Quiet.requests) == 2
    assert load_dataset(NAME).facts == load_dataset(files).facts


def test_a_file_that_changed_since_the_first_download_is_rejected(tmp_path: Path, files: Path, mirror: str):
    pack(files, archive_of(tmp_path))
    folder = download_tgb(BENCHMARK, mirror=mirror)
    (folder / f"{NAME}_edgelist.csv").unlink()
    write_tgb(files, NAME, seed=1, static=30)
    pack(files, archive_of(tmp_path))
    with pytest.raises(DataError, match="differs from the file that was downloaded before"):
        download_tgb(BENCHMARK, mirror=mirror)


@pytest.mark.parametrize("packed", [True, False])
def test_a_rejected_file_is_not_used(tmp_path: Path, files: Path, mirror: str, packed: bool):
    folder = download_tgb(BENCHMARK, folder=files)
    changed = candidate_file(NAME, "test")
    before = (folder / changed).read_bytes()
    dump_candidates(files / changed, {(1910, 1, 1): np.array([3])})
    source = pack(files, tmp_path / "local" / f"{NAME}.zip").parent if packed else files
    for damage in (lambda path: path.write_text("damaged"), Path.unlink):
        damage(folder / changed)
        damaged = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        assert "differs from" in str(invoke("data", "download", NAME, "--from", source).exception)
        assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == damaged
    dump_candidates(files / changed, {(1910, 1, 1): np.array([1, 2])})
    download_tgb(BENCHMARK, folder=files)
    assert (folder / changed).read_bytes() == before


def test_a_known_checksum_is_checked(tmp_path: Path, files: Path, mirror: str):
    archive = pack(files, archive_of(tmp_path))
    with pytest.raises(DataError, match="is not the benchmark's file"):
        download_tgb(replace(BENCHMARK, sha256="0" * 64), mirror=mirror)
    assert downloaded_tgb(BENCHMARK) is None
    download_tgb(replace(BENCHMARK, sha256=sha256_of(archive)), mirror=mirror)
    assert downloaded_tgb(BENCHMARK) is not None


def test_an_archive_with_damaged_content_is_rejected(tmp_path: Path, files: Path, mirror: str):
    archive = pack(files, archive_of(tmp_path))
    content = bytearray(archive.read_bytes())
    first = 30 + int.from_bytes(content[26:28], "little")  # behind the header and the name of the first file
    content[first : first + 50] = b"\xff" * 50
    archive.write_bytes(content)
    with pytest.raises(DataError, match="not a readable archive"):
        download_tgb(BENCHMARK, mirror=mirror)


def test_a_cut_off_archive_is_rejected_and_not_kept(tmp_path: Path, files: Path, mirror: str):
    archive = pack(files, archive_of(tmp_path))
    archive.write_bytes(archive.read_bytes()[:-100])
    with pytest.raises(DataError, match="not a readable archive"):
        download_tgb(BENCHMARK, mirror=mirror)
    assert downloaded_tgb(BENCHMARK) is None
    pack(files, archive)
    download_tgb(BENCHMARK, mirror=mirror)
    assert downloaded_tgb(BENCHMARK) is not None


def test_an_archive_without_a_file_is_rejected(tmp_path: Path, files: Path, mirror: str):
    (files / f"{NAME}_test_ns.pkl").unlink()
    pack(files, archive_of(tmp_path))
    with pytest.raises(DataError, match=rf"has no {NAME}_test_ns\.pkl"):
        download_tgb(BENCHMARK, mirror=mirror)


def test_an_archive_that_does_not_fit_on_the_disk_is_not_extracted(
    tmp_path: Path, files: Path, mirror: str, monkeypatch: pytest.MonkeyPatch
):
    pack(files, archive_of(tmp_path))
    monkeypatch.setattr(downloads, "SPACE_LEFT", 1 << 62)
    with pytest.raises(DataError, match=r"needs 0\.0 GB of disk space, but 0\.0 GB are free"):
        download_tgb(BENCHMARK, mirror=mirror)
    assert downloaded_tgb(BENCHMARK) is None


def test_a_file_that_is_larger_than_the_archive_says_is_rejected(tmp_path: Path, files: Path, mirror: str):
    archive = pack(files, archive_of(tmp_path))
    content = bytearray(archive.read_bytes())
    with zipfile.ZipFile(io.BytesIO(bytes(content))) as read:
        offset = read.start_dir
    content[offset + 24 : offset + 28] = (9).to_bytes(4, "little")  # the size of the first file
    archive.write_bytes(content)
    with pytest.raises(DataError, match="not a readable archive"):
        download_tgb(BENCHMARK, mirror=mirror)
    assert downloaded_tgb(BENCHMARK) is None


@pytest.mark.parametrize("packed", [True, False])
def test_a_local_folder_serves_instead_of_a_download(tmp_path: Path, files: Path, mirror: str, packed: bool):
    folder = pack(files, tmp_path / "local" / f"{NAME}.zip").parent if packed else files.parent
    titer("data", "download", NAME, "--from", folder)
    assert Quiet.requests == []
    assert load_dataset(NAME).facts == load_dataset(files).facts


def test_names_are_shown_instead_of_identifiers(tmp_path: Path, files: Path, mirror: str):
    (tmp_path / "names.csv").write_text("Q100,Anna Smith\n")
    (tmp_path / "relations.csv").write_text("P30,member of\n")
    download_tgb(BENCHMARK, folder=files)
    words = ["--entity-names", tmp_path / "names.csv", "--relation-names", tmp_path / "relations.csv"]
    titer("data", "download", NAME, "--from", files, *words)
    vocabulary = load_dataset(NAME).vocabulary
    assert "Anna Smith" in vocabulary.entities
    assert "member of" in vocabulary.relations
    assert "TGB only" in str(invoke("data", "download", "YAGO", *words).exception)


def test_a_dataset_without_static_facts_says_so(tmp_path: Path, mirror: str):
    folder = write_tgb(tmp_path / "polecat", "tkgl-polecat", numbered=True)
    for split in ("valid", "test"):
        dump_candidates(folder / candidate_file("tkgl-polecat", split), {(1, 1, 1): np.array([1])})
    download_tgb(TGB_BENCHMARKS["tkgl-polecat"], folder=folder)
    with pytest.raises(DataError, match="no static facts"):
        load_dataset("tkgl-polecat+static")


def test_the_catalogue_has_the_four_datasets_at_one_home():
    assert set(TGB_BENCHMARKS) == {"tkgl-smallpedia", "tkgl-polecat", "tkgl-icews", "tkgl-wikidata"}
    for benchmark in TGB_BENCHMARKS.values():
        assert benchmark.home.startswith("https://")
        assert benchmark.home.endswith("/tgb/")
    assert [b.name for b in TGB_BENCHMARKS.values() if b.has_static] == ["tkgl-smallpedia", "tkgl-wikidata"]
    assert [b.name for b in TGB_BENCHMARKS.values() if b.num_negatives] == ["tkgl-wikidata"]
