"""Files on the web, from a server on this machine."""

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from commands import titer
from titer.data.importing import import_dataset
from titer.data.load import load_dataset
from titer.errors import DataError

TABLE = "subject,relation,object,time\n" + "".join(f"a,visit,b{i % 3},2020-01-{i:02d}\n" for i in range(1, 29))
FILES = {
    "/events.csv": TABLE.encode(),
    "/events.csv.gz": gzip.compress(TABLE.encode()),
    "/download?id=7": TABLE.encode(),
    "/export": gzip.compress(TABLE.encode()),
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/events.csv")
            self.end_headers()
            return
        body = FILES.get(self.path)
        if self.path == "/cut.csv":
            body = TABLE.encode()
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) + 100 * (self.path == "/cut.csv")))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


@pytest.mark.parametrize("path", [*FILES, "/moved"])
def test_a_web_address_is_read_like_a_file(server: str, path: str):
    dataset = import_dataset(server + path)
    assert len(dataset.facts) == 28
    assert set(dataset.vocabulary.entities) == {"a", "b0", "b1", "b2"}


def test_the_command_names_the_dataset_like_the_file(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    titer("data", "import", f"{server}/events.csv.gz", "--yes")
    assert len(load_dataset(tmp_path / "data" / "events").facts) == 28


def test_a_missing_file_is_an_error_with_the_address(server: str):
    with pytest.raises(DataError, match=r"http://.*/none\.csv could not be downloaded: the server answered 404"):
        import_dataset(f"{server}/none.csv")


def test_an_incomplete_download_is_an_error(server: str):
    with pytest.raises(DataError, match="could not be downloaded"):
        import_dataset(f"{server}/cut.csv")


def test_an_address_without_a_server_is_an_error():
    with pytest.raises(DataError, match="could not be downloaded"):
        import_dataset("http://127.0.0.1:9/facts.csv")


def test_other_schemes_are_refused(tmp_path: Path):
    (tmp_path / "facts.csv").write_text(TABLE)
    for address in (f"file://{tmp_path}/facts.csv", "ftp://127.0.0.1/facts.csv"):
        with pytest.raises(DataError, match="not an http or https address"):
            import_dataset(address)
