"""Adding facts on the page, with the token that the browser was given."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from service.browsing import barriers, browser_tests, new_page, served
from service.process import Service
from titer.data.dataset import Dataset

pytestmark = browser_tests
TOKEN = "open sesame"


@pytest.fixture(scope="module")
def writable(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    path: Path = tmp_path_factory.mktemp("writable") / "run"
    yield from served(world_data, path, token=TOKEN)


@pytest.fixture
def writer(browser: Browser) -> Iterator[Page]:
    """A page of a user who has entered the token."""
    yield from new_page(browser, http_credentials={"username": "any", "password": TOKEN})


def fill(page: Page, subject: str, relation: str, object: str, date: str = "") -> None:
    form = page.get_by_role("form", name="Add a fact")
    for label, value in (("Subject", subject), ("Relation", relation), ("Object", object), ("Date", date)):
        form.get_by_label(label).fill(value)
    form.get_by_role("button", name="Add", exact=True).click()


def test_an_added_fact_is_shown_and_the_forecast_is_made_again(writer: Page, writable: Service):
    writer.goto(writable.url)
    writer.get_by_role("link", name="Add facts").click()
    fill(writer, "Aldoria", "hold talks with", "Drovia", "2023-07-03")
    expect(writer.locator("#add-said")).to_contain_text("Added: Aldoria hold talks with Drovia, 3 Jul 2023.")
    expect(writer.locator("#add-result .days li").first).to_have_text("Aldoria hold talks with Drovia")
    expect(writer.locator("#add-result .events li").first).to_contain_text("Aldoria")
    expect(writer.get_by_text("The 7 days from 4 Jul 2023 to 10 Jul 2023")).to_be_visible()
    writer.get_by_role("link", name="Home").click()
    expect(writer.locator("#window")).to_contain_text("from 4 Jul 2023")
    with writable.client(TOKEN) as client:
        latest = client.get("/v1/past-events", params={"limit": 1}).json()["facts"][0]
    assert (latest["subject"], latest["object"], latest["time"]) == ("Aldoria", "Drovia", "2023-07-03")


def test_an_unknown_name_is_added_only_after_a_question(writer: Page, writable: Service):
    writer.goto(f"{writable.url}/facts")
    fill(writer, "Aldori", "hold talks with", "Drovia", "2023-07-04")
    expect(writer.locator("#add-said")).to_contain_text("“Aldori” is not known yet.")
    expect(writer.get_by_role("status")).to_have_text("“Aldori” is not known yet.")  # without the words of buttons
    writer.get_by_role("button", name="Use “Aldoria”").click()
    expect(writer.locator("#add-subject")).to_have_value("Aldoria")
    fill(writer, "Aldoria", "hold talks with", "Newland", "2023-07-04")
    with writable.client(TOKEN) as client:
        assert client.get("/v1/names", params={"kind": "entity", "q": "newland"}).json()["names"] == []
    writer.get_by_role("button", name="Add as a new entity").click()
    expect(writer.locator("#add-said")).to_contain_text("1 entity without a fact in training: Newland.")


def test_what_is_refused_says_why_and_what_to_do(writer: Page, writable: Service):
    writer.goto(f"{writable.url}/facts")
    alert = writer.locator("#add-said [role=alert]")
    fill(writer, "Aldoria", "hold talks wth", "Drovia", "2023-07-05")
    expect(alert.locator("p")).to_have_text("unknown relation 'hold talks wth'; did you mean 'hold talks with'?")
    writer.get_by_role("button", name="Use “hold talks with”").click()
    expect(writer.locator("#add-relation")).to_have_value("hold talks with")
    fill(writer, "Aldoria", "hold talks with", "Drovia", "tomorrow-ish")
    expect(alert.locator("p")).to_have_text(re.compile("^'tomorrow-ish' is not a date"))
    fill(writer, "Fenland", "accuse", "Drovia", "2023-06-02")
    expect(alert.locator("p")).to_have_text(re.compile(r"before the last known step, 2023-07-\d\d\.$"))
    writer.get_by_role("button", name="Add it to the past").click()
    expect(writer.locator("#add-said")).to_contain_text("Added: Fenland accuse Drovia")
    fill(writer, "Fenland", "accuse", "Drovia", "2023-06-02")
    expect(writer.locator("#add-said")).to_contain_text(re.compile("Known already|Add it to the past"))


def test_a_fact_of_the_far_future_is_added_only_after_a_question(writer: Page, writable: Service):
    sent: list[dict[str, object]] = []

    def answer(route: Route) -> None:
        sent.append(route.request.post_data_json or {})
        line = "facts, row 1: 2033-06-02 is after today; allow_future (--allow-future) accepts facts of the future"
        problem = {"error": {"code": "cannot_answer", "message": line, "suggestions": [], "details": []}}
        route.fulfill(status=422, json=problem)

    writer.route("**/v1/facts", answer)
    writer.goto(f"{writable.url}/facts")
    fill(writer, "Fenland", "accuse", "Drovia", "2033-06-02")
    expect(writer.locator("#add-said [role=alert] p")).to_have_text("2033-06-02 is after today.")
    with writer.expect_response("**/v1/facts"):
        writer.get_by_role("button", name="Add it all the same").click()
    assert [one.get("allow_future") for one in sent] == [None, True]


def test_a_fact_without_a_date_is_of_the_last_known_day(writer: Page, writable: Service):
    with writable.client(TOKEN) as client:
        last = client.get("/v1/model").json()["last"]
        words = client.get("/v1/overview").json()["last"]
    writer.goto(f"{writable.url}/facts")
    expect(writer.locator("#add-time")).to_have_attribute("placeholder", last)
    fill(writer, "Fenland", "accuse", "Iskander")
    expect(writer.locator("#add-said")).to_contain_text(f"Fenland accuse Iskander, {words}.")
    with writable.client(TOKEN) as client:
        assert client.get("/v1/model").json()["last"] == last


def test_a_fact_is_added_with_the_keyboard_alone(writer: Page, writable: Service):
    writer.goto(f"{writable.url}/facts")
    expect(writer.locator("#add-subject")).to_be_visible()
    writer.locator("#add-subject").focus()
    writer.keyboard.type("Keld")
    expect(writer.get_by_role("option").first).to_be_visible()
    writer.keyboard.press("ArrowDown")
    writer.keyboard.press("Enter")
    expect(writer.locator("#add-subject")).to_have_value("Keldan")
    for text in ("accuse", "Fenland"):
        writer.keyboard.press("Tab")
        writer.keyboard.type(text)
    writer.keyboard.press("Enter")
    expect(writer.locator("#add-said")).to_contain_text("Added: Keldan accuse Fenland")


def test_the_form_is_accessible_and_no_token_is_stored_on_the_page(writer: Page, writable: Service):
    writer.goto(f"{writable.url}/facts")
    fill(writer, "Aldori", "hold talks with", "Drovia", "2023-07-09")
    expect(writer.locator("#add-said")).to_contain_text("is not known yet")
    assert not barriers(writer)
    assert writer.evaluate("localStorage.length + sessionStorage.length + document.cookie.length") == 0
    assert TOKEN not in writer.content()


def test_a_service_without_a_token_says_that_it_is_read_only(page: Page, service: Service):
    page.goto(f"{service.url}/facts")
    expect(page.locator("#add-note")).to_contain_text("This service is read-only.")
    expect(page.get_by_role("form", name="Add a fact")).to_be_hidden()
    expect(page.get_by_role("link", name="Add facts")).to_be_hidden()
