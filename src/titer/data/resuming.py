"""A downloader for pooch that takes up a broken-off file where it broke off."""

import shutil
import urllib.error
import urllib.request
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any

from titer.progress import track

TIMEOUT_SECONDS = 60
CHUNK_BYTES = 1 << 16


class ResumingDownloader:
    """Keeps what has arrived in ``part`` and asks only for the rest."""

    def __init__(self, part: Path):
        self.part = part

    def __call__(self, url: str, output_file: str | Path, pooch: Any) -> None:
        """Download ``url``; called by pooch, which checks the SHA-256 of the result."""
        have = self.part.stat().st_size if self.part.exists() else 0
        try:
            request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
                resumed = response.status == HTTPStatus.PARTIAL_CONTENT
                expected = response.headers.get("Content-Length")
                with self.part.open("ab" if resumed else "wb") as file:
                    before = file.tell()
                    chunks = iter(lambda: response.read(CHUNK_BYTES), b"")
                    total = -(-int(expected) // CHUNK_BYTES) if expected is not None else None
                    for chunk in track(chunks, f"downloading {url.rsplit('/', 1)[-1]}", total):
                        file.write(chunk)
                    arrived = file.tell() - before
                if expected is not None and arrived < int(expected):
                    raise ConnectionError(f"the connection ended after {arrived} of {expected} bytes")
        except urllib.error.HTTPError as error:
            if error.code != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise
            # Everything had arrived already; whether it is right, the checksum tells.
        except (HTTPException, ValueError) as error:  # a broken answer, or no URL at all
            raise ConnectionError(str(error)) from error
        shutil.move(self.part, output_file)
