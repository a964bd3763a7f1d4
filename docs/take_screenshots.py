"""Take the screenshots of the README and the documentation: the real service and report in a real browser.

    python docs/take_screenshots.py

Trains a model on the small world, which takes half a minute, unless a run is given. Needs ``pip install '.[dev]'`` and
an installed Chromium.
"""

import argparse
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, expect, sync_playwright

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"
CONFIG = DOCS.parent / "src" / "titer" / "configs" / "path_mixture" / "small-world.toml"
WIDTH, TALLEST, MAX_BYTES = 1000, 1500, 250_000
TITER = (sys.executable, "-m", "titer")
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)

SMALL_WORLD = {"subject": "Caldera", "relation": "invite", "answer": "Nadia Torvald"}


@contextmanager
def service(run: Path) -> Generator[str]:
    """Serve a run, and yield its address."""
    words = [*TITER, "serve", str(run), "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield next(found[1] for line in process.stderr if (found := re.search(r"running on (http://\S+)", line)))
        finally:
            process.send_signal(signal.SIGINT)


def show(page: Page, url: str, question: dict[str, str]) -> None:
    """Open the link to a question and the evidence for an answer."""
    page.goto(f"{url}/question?{urlencode(question)}")
    expect(page.locator("#timeline svg")).to_be_visible()
    expect(page.locator("#about")).not_to_be_empty()
    page.evaluate("document.activeElement?.blur()")


def show_home(page: Page, url: str) -> None:
    """Open the page as a user does."""
    page.goto(url)
    expect(page.locator("#likely .events")).to_be_visible(timeout=60_000)
    expect(page.locator("#lately .days")).to_be_visible()
    expect(page.locator("#about")).not_to_be_empty()
    expect(page.locator("#how-good")).to_contain_text("happened", timeout=60_000)
    page.wait_for_load_state("networkidle")  # the evidence of every event


def take(page: Page, name: str, tallest: int = TALLEST) -> None:
    """Save a screenshot of the page, small enough for a repository."""
    path = PICTURES / f"{name}.png"
    height = min(tallest, page.evaluate("document.documentElement.scrollHeight"))
    page.screenshot(path=path, full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise SystemExit(f"{path} has {size:,} bytes; the limit is {MAX_BYTES:,}")
    print(f"{path}: {WIDTH} x {height}, {size:,} bytes")


def main() -> None:
    """Take all screenshots."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small-world", type=Path, metavar="RUN", help="a run on the small world (default: train one)")
    options = parser.parse_args()
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 700}, color_scheme="light")
        run = options.small_world or Path(folder) / "run"
        if options.small_world is None:
            subprocess.run([*TITER, "train", "small-world", "--config", str(CONFIG), "--out", str(run)], check=True)
        with service(run) as url:
            show_home(page, url)
            take(page, "page-home", tallest=920)
            show(page, url, SMALL_WORLD)
            take(page, "page-small-world")
            page.goto(f"{url}/record")
            expect(page.get_by_role("heading", name="Evaluation")).to_be_visible(timeout=60_000)
            take(page, "page-record", tallest=920)
        subprocess.run([*TITER, "evaluate", str(run)], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*TITER, "report", str(run), "--out", f"{folder}/report.html"], check=True)
        page.goto(f"file://{folder}/report.html")
        take(page, "report-small-world", tallest=920)
        browser.close()


if __name__ == "__main__":
    main()
