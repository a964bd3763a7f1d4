"""A real browser, and services to open in it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from service.process import Service
from titer.data.dataset import Dataset
from titer.runs.train import train
from titer.training.config import Config

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Names of browsers; the first has no user interface of its own and takes the least time."""
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
# Every window would load hundreds of scripts for the suggestions of its address bar. These features replace those that
# Playwright disables; the ones that affect a page are repeated.
DISABLED = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"),
    *("AimEnabled", "HttpsUpgrades", "MediaRouter", "PaintHolding"),
)
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"),
    f"--disable-features={','.join(DISABLED)}",
]
DARK = "rgb(20, 23, 27)"
"""The background of the dark colour scheme."""
COLOUR_RULES = ["color-contrast", "link-in-text-block"]
"""Rules of axe that depend on the colour scheme."""
expect.set_options(timeout=15_000)

browser_tests = [
    pytest.mark.slow,
    pytest.mark.xdist_group("page"),
    pytest.mark.skipif(CHROMIUM is None, reason="needs an installed Chromium"),
]


def served(
    dataset: Dataset,
    path: Path,
    model: str = "recurrency",
    *,
    token: str | None = None,
    **settings: object,
) -> Iterator[Service]:
    """Train a model, and yield a service of it."""
    train(dataset, Config.from_dict({"model": settings, "training": {"epochs": 1}}, model), path)
    service = Service(path, **({} if token is None else {"TITER_TOKEN": token}))
    try:
        yield service
    finally:
        assert service.stop() == 0


def opened() -> Iterator[Browser]:
    """Yield a browser."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def new_page(parent: Browser | BrowserContext, **options: object) -> Iterator[Page]:
    """Yield a page; no script of it may fail, and none may break the content security policy."""
    page = parent.new_page(**options)  # pyright: ignore[reportArgumentType]
    page.set_default_timeout(15_000)
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.on("console", lambda message: broken.append(message.text) if "Content Security" in message.text else None)
    yield page
    page.close()
    assert not broken


def barriers(page: Page, rules: list[str] | None = None) -> str:
    """Return what axe finds to be inaccessible on a page, by all of its rules or some of them."""
    chosen = {} if rules is None else {"runOnly": rules}
    # A report of everything that is accessible would take as long as the check.
    found = Axe().run(page, options={"resultTypes": ["violations"], **chosen})
    return str(found.generate_report()) if found.violations_count else ""
