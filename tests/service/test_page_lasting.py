"""The page of a dataset whose facts last: what continues, begins and ends."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from service.browsing import barriers, browser_tests, served
from service.process import Service
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.split import split_by_fraction
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary

pytestmark = browser_tests
NUM_PLAYERS, NUM_CLUBS, NUM_YEARS = 16, 6, 40


def careers() -> Dataset:
    """Return players who change their club after three to eight years."""
    players = [f"Player {i + 1}" for i in range(NUM_PLAYERS)]
    clubs = [f"Club {i + 1}" for i in range(NUM_CLUBS)]
    rows = [
        (player, 0, NUM_PLAYERS + (player + (year + player) // (3 + player % 6)) % NUM_CLUBS, year)
        for year in range(NUM_YEARS)
        for player in range(NUM_PLAYERS)
    ]
    axis = TimeAxis(TimeUnit.YEAR, "1980")
    splits = split_by_fraction(Facts.from_rows(rows), (0.8, 0.1, 0.1))
    return Dataset("careers", Vocabulary([*players, *clubs], ["plays for"]), axis, *splits)


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    yield from served(careers(), tmp_path_factory.mktemp("lasting") / "run")


def test_home_begins_with_what_changes_and_names_the_kind_of_each_event(page: Page, lasting: Service):
    page.goto(lasting.url)
    rows = page.locator("#likely .events > li")
    expect(rows.first).to_be_visible()
    expect(page.get_by_role("heading", name="Most likely changes")).to_be_visible()
    expect(page.get_by_label("Kind")).to_have_value("changes")
    found = []
    with lasting.client() as client:
        for kind in ("ends", "begins", "new"):
            asked = {"within": 2, "top": 25, "kind": kind}
            found += client.get("/v1/events", params=asked).json()["events"]
    found = [one for one in sorted(found, key=lambda one: -one["probability"]) if one["probability"] >= 0.005][:25]
    assert {"ends"} < {one["kind"] for one in found}
    expect(rows.locator(".fact-line")).to_have_text([f"{one['subject']} plays for {one['object']}" for one in found])
    for row, event in zip(rows.all(), found, strict=True):
        expect(row.locator(".lift")).to_contain_text(event["kind"])
        if event["kind"] == "ends":  # beside how often facts of the relation end
            expect(row.locator(".lift")).to_have_text(re.compile(r"^ends \d+(\.\d)?×$"))
            expect(row.locator("rect.usual")).to_have_count(1)
    expect(page.locator("#window")).to_have_text(re.compile(r"about [\d.]+ changes expected\.$"))
    assert not barriers(page)
    page.get_by_role("button", name=re.compile("^Why")).first.click()
    expect(page.locator(".more h3").first).to_have_text(
        re.compile("^What (makes its end likely|speaks against its end)$")
    )


def test_any_kind_is_chosen_where_facts_last_and_is_in_the_address(page: Page, lasting: Service):
    page.goto(lasting.url)
    expect(page.locator("#likely .events > li").first).to_be_visible()
    page.get_by_label("Kind").select_option("any")
    expect(page.get_by_role("heading", name="Most likely events")).to_be_visible()
    assert page.url.endswith("/?kind=any")
    row = page.locator("#likely .events > li").filter(has=page.get_by_text("continues", exact=True)).first
    expect(row.locator(".lift")).to_have_text(re.compile(r"^continues \d+(\.\d)?×$"))
    page.route("**/v1/likely?**", lambda route: route.abort())  # without evidence, rows say what was
    page.reload()
    expect(row.locator(".note")).to_have_text(re.compile(r"^Held in \d+ of 40 years$"))
    page.get_by_label("Kind").select_option("changes")
    expect(page.get_by_role("heading", name="Most likely changes")).to_be_visible()
    assert page.url == f"{lasting.url}/"
