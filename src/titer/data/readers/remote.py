"""Files that are read from the web."""

import shutil
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

from titer.errors import DataError
from titer.version import __version__

SCHEMES = ("http", "https")
TIMEOUT_SECONDS = 60


def is_web_address(path: str) -> bool:
    """Return whether this is the address of a file on the web."""
    return urlsplit(path).scheme.lower() in SCHEMES and "://" in path


def file_name(address: str) -> str:
    """Return the last part of the path of a web address; it may be empty."""
    return unquote(urlsplit(address).path).rpartition("/")[2]


def download(address: str, target: Path) -> None:
    """Copy a file from the web to a local file, without holding it in memory.

    Args:
        address: An http or https URL.
        target: The file to write.

    Raises:
        DataError: If the file cannot be downloaded completely.
    """
    request = Request(address, headers={"User-Agent": f"titer/{__version__}"})
    try:
        with urlopen(request, timeout=TIMEOUT_SECONDS) as response, target.open("wb") as file:
            expected = response.headers.get("Content-Length")
            shutil.copyfileobj(response, file)
    except HTTPError as error:
        with error:
            raise DataError(
                f"{address} could not be downloaded: the server answered {error.code} {error.reason}"
            ) from None
    except (URLError, HTTPException, OSError, ValueError) as error:
        raise DataError(f"{address} could not be downloaded: {getattr(error, 'reason', None) or error}") from error
    size = target.stat().st_size
    if expected is not None and size != int(expected):
        raise DataError(f"{address} could not be downloaded: only {size:,} of {int(expected):,} bytes arrived")
