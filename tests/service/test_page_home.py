"""The home view in a real browser: what a person sees without typing."""

import re
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from service.browsing import barriers, browser_tests, new_page
from service.process import Service

pytestmark = browser_tests


def test_home_shows_likely_events_and_the_latest_facts_without_typing(page: Page, service: Service):
    page.goto(service.url)
    rows = page.locator("#likely .events > li")
    expect(rows).to_have_count(25)
    expect(page.locator("#window")).to_have_text(
        re.compile(r"^The 7 days from 1 Jul 2023 to 7 Jul 2023: about \d+ different")
    )
    with service.client() as client:
        found = client.get("/v1/events", params={"within": 7, "top": 25}).json()["events"]
        past = client.get("/v1/past-events", params={"limit": 25}).json()["facts"]
    for row, event in zip(rows.all(), found, strict=True):
        expect(row.locator(".fact-line")).to_have_text(f"{event['subject']} {event['relation']} {event['object']}")
        expect(row.locator(".chance .number")).to_have_text(re.compile(r"^(>99|<0\.1|\d+(\.\d)?)%$"))
        expect(row.locator(".lift")).to_have_text(re.compile(r"^(new|\d+(\.\d)?×)$"))
        expect(row.locator(".note")).not_to_be_empty()
    widths = [float(bar.get_attribute("width") or 0) for bar in page.locator("#likely rect.first").all()]
    assert widths == [pytest.approx(100 * event["probability"]) for event in found]
    # A mark that is higher than the bar shows the usual probability.
    expect(page.locator("#likely rect.usual")).to_have_count(sum(event["usual"] > 0 for event in found))
    mark, bar = (page.locator(f"#likely rect.{kind}").first.bounding_box() for kind in ("usual", "first"))
    assert mark is not None
    assert bar is not None
    assert mark["height"] > bar["height"] + 2
    expect(page.locator("#lately .fact-line")).to_have_text(
        [f"{one['subject']} {one['relation']} {one['object']}" for one in past]
    )


def test_filters_are_in_the_address_and_the_back_button_removes_them(page: Page, service: Service, browser: Browser):
    page.goto(service.url)
    expect(page.locator("#likely .events > li")).to_have_count(25)
    page.get_by_label("Who").fill("Aldoria")
    page.get_by_label("Who").press("Enter")
    for section in ("#likely", "#lately"):  # they are loaded independently
        lines = page.locator(f"{section} .fact-line")
        expect(lines.first).to_contain_text("Aldoria")
        expect(lines.filter(has_not_text="Aldoria")).to_have_count(0)
    page.get_by_label("Does what").fill("hold talks with")
    page.get_by_label("Does what").press("Enter")
    expect(page.locator("#lately")).not_to_contain_text("accuse")
    expect(page.locator("#filtered a")).to_have_text(["About Aldoria", "About hold talks with"])
    page.get_by_label("Within").select_option("1")
    expect(page.locator("#window")).to_contain_text("1 Jul 2023:")
    page.get_by_label("Order by").select_option("lift")
    expect(page.get_by_role("heading", name="Most unusual events")).to_be_visible()
    assert page.url.endswith("/?entity=Aldoria&relation=hold+talks+with&within=1&sort=lift")
    shown = page.locator("#likely .fact-line").all_inner_texts()
    other = browser.new_page()
    other.goto(page.url)
    expect(other.locator("#likely .fact-line")).to_have_text(shown)
    expect(other.get_by_label("Who")).to_have_value("Aldoria")
    other.close()
    for _ in range(4):
        page.go_back()
    expect(page.locator("#filtered")).to_be_hidden()
    expect(page.locator("#likely .events > li")).to_have_count(25)
    expect(page.get_by_label("Who")).to_have_value("")
    expect(page.get_by_label("Within")).to_have_value("7")


def test_an_event_explains_itself_on_request(page: Page, service: Service):
    page.goto(service.url)
    row = page.locator("#likely .events > li").first
    button = row.get_by_role("button", name=re.compile("^Why"))
    expect(button).to_have_attribute("aria-expanded", "false")
    button.click()
    expect(row.locator(".more li").first).to_contain_text(re.compile(r"\d+% .+"))
    expect(row.locator(".more")).to_contain_text("shares of how much less likely it would be without these facts")
    expect(row.get_by_role("link", name="When, and what if?")).to_be_visible()
    button.click()
    expect(row.locator(".more")).to_be_hidden()


@pytest.mark.parametrize(("width", "sizes"), [(1280, [25, 50, 100]), (390, [10, 25, 50])])
def test_more_events_are_shown_on_request_and_again_after_the_back_button(
    browser: Browser, service: Service, width: int, sizes: list[int]
):
    for page in new_page(browser, viewport={"width": width, "height": 800}):
        page.goto(service.url)
        rows = page.locator("#likely .events > li")
        for shown, more in pairwise(sizes):
            expect(rows).to_have_count(shown)
            page.get_by_role("button", name="Show more").click()
            expect(rows).to_have_count(more)
            expect(rows.nth(shown).locator("a").first).to_be_focused()
            assert page.url.endswith(f"/?top={more}")
        with service.client() as client:
            found = client.get("/v1/events", params={"within": 7, "top": sizes[-1]}).json()["events"]
        lines = [f"{one['subject']} {one['relation']} {one['object']}" for one in found]
        expect(rows.locator(".fact-line")).to_have_text(lines)
        assert not barriers(page, ["duplicate-id-aria", "button-name", "color-contrast"])
        rows.last.locator("a").first.click()
        expect(page.get_by_role("heading", name="Usual partners")).to_be_visible()
        page.go_back()
        expect(rows.locator(".fact-line")).to_have_text(lines)


def test_a_list_that_is_complete_has_no_button_for_more(page: Page, service: Service):
    def answer(route: Route) -> None:
        found = route.fetch().json()
        found["events"] = found["events"][:25]
        route.fulfill(json=found)

    page.route("**/v1/events?**", answer)
    page.goto(service.url)
    expect(page.locator("#likely .events > li")).to_have_count(25)
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)


def asks_about(url: str, event: dict[str, Any]) -> bool:
    query = dict(parse_qsl(urlsplit(url).query))
    return all(query[key] == event[key] for key in ("subject", "relation", "object"))


def test_only_events_near_the_screen_get_their_evidence_without_being_asked(page: Page, service: Service):
    with service.client() as client:
        last = client.get("/v1/events", params={"within": 7, "top": 100}).json()["events"][-1]
    explained: list[str] = []
    page.on("request", lambda one: explained.append(one.url) if "/v1/likely?" in one.url else None)
    with page.expect_request("**/v1/likely?**"):
        page.goto(f"{service.url}/?top=100")
    rows = page.locator("#likely .events > li")
    expect(rows).to_have_count(100)
    with page.expect_request(lambda one: "/v1/likely?" in one.url and asks_about(one.url, last), timeout=60_000):
        rows.last.scroll_into_view_if_needed()
    assert len(explained) < 60


def test_loading_empty_and_error_states_are_shown(page: Page, service: Service):
    held: list[Route] = []
    page.route("**/v1/events?**", lambda route: held.append(route))
    with page.expect_request("**/v1/events?**"):
        page.goto(service.url)
    expect(page.locator("#likely")).to_have_text("Forecasting…")
    expect(page.locator("#lately .fact-line")).to_have_count(25)  # known facts do not wait for the forecast
    held[0].fulfill(json={"window": "tomorrow", "expected": 0.0, "start": "", "steps": 1, "events": []})
    expect(page.locator("#likely")).to_have_text("No event is likely enough to be listed. Choose a longer window.")
    expect(page.locator("#window")).to_have_text("Tomorrow: fewer than 0.1 events expected.")
    page.unroute("**/v1/events?**")
    page.goto(f"{service.url}/?entity=Aldorai")
    expect(page.get_by_role("alert")).to_contain_text("unknown entity 'Aldorai'")
    expect(page.get_by_role("heading", level=2)).to_have_count(0)
    page.get_by_role("button", name="Use “Aldoria”").click()
    expect(page.locator("#likely .fact-line").first).to_contain_text("Aldoria")
    expect(page.get_by_role("alert")).to_be_hidden()


def test_events_that_hardly_happen_are_not_listed(page: Page, service: Service):
    likely = 3

    def answer(route: Route) -> None:
        found = route.fetch().json()
        for event in found["events"][likely:]:
            event["probability"] = 0.0049
        route.fulfill(json=found)

    page.route("**/v1/events?**", answer)
    page.goto(service.url)
    expect(page.locator("#likely .events > li")).to_have_count(3)
    likely = 0
    page.goto(f"{service.url}/?relation=brief")
    expect(page.locator("#likely")).to_have_text(
        "No event is likely enough to be listed. Choose a longer window, or fewer filters."
    )
    expect(page.locator("#likely-note")).to_be_hidden()
    for view in ("/relation?name=brief", "/entity?name=Drovia"):  # which have neither windows to choose nor filters
        page.goto(service.url + view)
        expect(page.locator("#profile .empty").first).to_have_text("No event is likely enough to be listed.")


def test_a_slow_forecast_can_be_tried_again(page: Page, service: Service):
    problem = {"error": {"code": "too_slow", "message": "the request took more than 30 seconds"}}
    page.route("**/v1/events?**", lambda route: route.fulfill(status=503, json=problem))
    page.goto(service.url)
    expect(page.get_by_role("alert")).to_contain_text("more than 30 seconds")
    page.unroute("**/v1/events?**")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#likely .events > li")).to_have_count(25)
    expect(page.get_by_role("alert")).to_be_hidden()


def test_home_is_used_with_the_keyboard_alone(page: Page, service: Service):
    page.goto(service.url)
    expect(page.locator("#likely .events > li")).to_have_count(25)
    order: list[str] = []
    for _ in range(15):
        page.keyboard.press("Tab")
        here = "[...(document.activeElement.labels ?? [])].map(l => l.firstChild.textContent.trim())[0]"
        order.append(page.evaluate(f"{here} ?? document.activeElement.textContent.trim()"))
    names = page.locator("#likely .fact-line").first.locator("a").all_inner_texts()
    expected = ["Skip to the content", "titer", "Home", "Question", "Record", "Find an entity or relation"]
    expected += ["Who or whom", "Does what", "Kind", "Within", "Order by"]
    assert order == [*expected, *names, "Why?"]
    page.keyboard.press("Enter")
    expect(page.locator("#likely .more").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#likely .more").first).to_be_hidden()


def test_the_question_view_is_reached_by_the_menu_and_left_by_the_back_button(page: Page, service: Service):
    page.goto(service.url)
    expect(page.get_by_role("link", name="Home")).to_have_attribute("aria-current", "page")
    page.get_by_role("link", name="Question").click()
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    expect(page.locator("#subject")).to_be_visible()
    expect(page.locator("#likely")).to_be_hidden()
    page.go_back()
    expect(page.locator("#likely .events > li")).to_have_count(25)
    page.goto(f"{service.url}/?subject=Aldoria&relation=hold+talks+with")  # as earlier versions linked to questions
    expect(page.locator("#answers li")).to_have_count(10)
    assert "/question?" in page.url


def test_home_needs_no_sideways_scrolling_on_a_tablet(browser: Browser, service: Service):
    """For other widths and views, see ``test_page_views.py``."""
    for page in new_page(browser, viewport={"width": 820, "height": 800}):
        page.goto(service.url)
        expect(page.locator("#likely .events > li")).to_have_count(25)
        page.get_by_role("button", name=re.compile("^Why")).first.click()
        expect(page.locator(".more li").first).to_be_visible()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth") <= 820
