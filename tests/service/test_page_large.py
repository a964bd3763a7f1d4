"""The page with a vocabulary of 25,000 entities: names are completed at once, and every view is shown."""

from collections.abc import Iterator

import pytest
import torch
from playwright.sync_api import Browser, Page, expect

from service.browsing import browser_tests, new_page
from service.process import Service
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.split import split_by_fraction
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.runs.train import train
from titer.training.config import Config

pytestmark = browser_tests
NUM_ENTITIES, NUM_RELATIONS, NUM_DAYS, PER_DAY = 25_000, 200, 40, 200
ROLES = ("Ministry of Foreign Affairs", "Police", "Citizen", "Member of Parliament", "Opposition Supporter")


def large_dataset() -> Dataset:
    """Return facts of 25,000 entities, some of which are far more frequent than others."""
    entities = [f"{ROLES[i % len(ROLES)]} (Province {i // len(ROLES):,} of Aldoria)" for i in range(NUM_ENTITIES)]
    relations = [f"express intent to cooperate in the matter {i}" for i in range(NUM_RELATIONS)]
    random = torch.Generator().manual_seed(0)
    number = NUM_DAYS * PER_DAY

    def skewed(size: int) -> torch.Tensor:
        return (size * torch.rand(number, generator=random) ** 3).long()

    facts = torch.stack([skewed(NUM_ENTITIES), skewed(NUM_RELATIONS), skewed(NUM_ENTITIES)])
    rows = zip(*facts.tolist(), [i // PER_DAY for i in range(number)], strict=True)
    axis = TimeAxis(TimeUnit.DAY, "2020-01-01")
    # A day for each of the last two: to score all entities for many queries takes long.
    splits = split_by_fraction(Facts.from_rows(list(rows)), (0.95, 0.025, 0.025))
    return Dataset("large", Vocabulary(entities, relations), axis, *splits)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    dataset = large_dataset()
    run = train(dataset, Config.from_dict({}, "recurrency"), tmp_path_factory.mktemp("large") / "run")
    service = Service(run.path, TITER_REQUEST_SECONDS="300")
    try:
        yield service
    finally:
        assert service.stop() == 0


TYPE = """async (input) => {
  const list = document.getElementById(`${input.id}-options`), numbers = [];
  input.focus();
  for (const typed of ["p", "pol", "province 12", "opposition supporter (province 4,", "member", "xyz", "citizen (p"]) {
    input.value = typed;
    const changed = new Promise((resolve) =>
      new MutationObserver(resolve).observe(list, { childList: true, attributes: true }));
    input.dispatchEvent(new Event("input"));
    await changed;
    numbers.push(list.children.length);
  }
  return numbers;
}"""


def test_names_are_completed_without_delay(browser: Browser, large: Service):
    """No timer delays the list: it follows every key while the clock of the page stands still."""
    for page in new_page(browser):
        page.clock.install(time=0)
        page.clock.pause_at(1000)
        page.goto(f"{large.url}/question")
        expect(page.locator("#about")).to_contain_text("large")
        subject = page.locator("#subject")
        assert subject.evaluate(TYPE) == [10, 10, 10, 10, 10, 0, 10]
        subject.fill("province 12")
        options = page.get_by_role("option")
        expect(options).to_have_count(10)
        counts = [int(text.split()[0].replace(",", "")) for text in options.locator(".number").all_inner_texts()]
        assert counts == sorted(counts, reverse=True)


def test_every_view_is_shown(page: Page, large: Service):
    page.goto(large.url)
    # Random facts: no event is likely.
    expect(page.locator("#likely")).to_contain_text("No event is likely enough", timeout=120_000)
    expect(page.locator("#lately .fact-line")).to_have_count(25)
    page.locator("#lately .entity").first.click()
    expect(page.get_by_role("heading", name="Usual partners")).to_be_visible()
    page.goto(f"{large.url}/relation?name=express intent to cooperate in the matter 0")
    expect(page.get_by_role("heading", name="Pairs")).to_be_visible()
    page.goto(f"{large.url}/record")
    expect(page.get_by_role("heading", name="Reliability")).to_be_visible(timeout=120_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]  # pyright: ignore[reportOptionalSubscript]
