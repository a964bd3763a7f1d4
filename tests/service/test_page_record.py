"""How good the forecasts have been, on the page."""

import re
from importlib.resources import files
from typing import Any

from playwright.sync_api import Browser, Page, Route, expect

from service.browsing import browser_tests, new_page
from service.process import Service
from titer.drawing.elements import document, el, table

pytestmark = browser_tests


def checked(service: Service) -> list[dict[str, Any]]:
    """Return all past windows, latest first."""
    with service.client() as client:
        starts = client.get("/v1/past-forecasts").json()["starts"]
        return [client.get("/v1/past-forecast", params={"start": start}).json() for start in starts]


def test_the_record_shows_hits_reliability_and_surprises(page: Page, service: Service):
    windows = checked(service)
    page.goto(f"{service.url}/record")
    bars = page.get_by_role("img", name="Most likely events that happened in each period").locator("rect.first title")
    expect(bars).to_have_count(len(windows))
    for text, window in zip(bars.all_text_contents(), reversed(windows), strict=True):
        assert text.startswith(f"{window['window']}: {window['hits']} of 25 happened")
    bins = {int(10 * one["probability"]) for window in windows for one in window["reliability"]}
    reliability = page.get_by_role("img", name="Share of events")
    expect(reliability.locator("circle")).to_have_count(len(bins))
    # The dots are beside the labels of the axis.
    right = reliability.get_by_text("50%").first.evaluate("it => it.getBoundingClientRect().right")
    lefts = reliability.locator("circle").evaluate_all("all => all.map((it) => it.getBoundingClientRect().left)")
    assert min(lefts) > right
    with service.client() as client:
        dates = client.get("/v1/past-forecasts").json()["dates"]
    ends = page.get_by_role("img", name="Most likely events that happened").locator("text")
    assert {dates[0], dates[-1]} <= set(ends.all_text_contents())
    assert all(date in window["window"] for date, window in zip(dates, windows, strict=True))
    surprises = page.locator("section", has=page.get_by_role("heading", name="Unlikely, but happened"))
    events = {
        f"{one['subject']} {one['relation']} {one['object']}" for window in windows for one in window["surprises"]
    }
    shown = surprises.locator(".fact-line").all_inner_texts()
    assert shown
    assert set(shown) <= events
    missed = page.locator("section", has=page.get_by_role("heading", name="Likely, but did not happen"))
    top = {
        f"{one['subject']} {one['relation']} {one['object']}"
        for window in windows
        for one in window["top"]
        if not one["happened"]
    }
    assert set(missed.locator(".fact-line").all_inner_texts()) <= top


def test_an_empty_list_leaves_its_space_to_the_other(page: Page, service: Service):
    def answer(route: Route) -> None:
        found = route.fetch().json()
        windows = found.get("checked", [found])
        for event in (event for window in windows for event in window["top"]):
            event["happened"] = True
        route.fulfill(json=found)

    page.route(re.compile("/v1/past-forecast"), answer)
    page.goto(f"{service.url}/record")
    expect(page.get_by_text("Every likely event happened.")).to_be_visible()
    lefts = page.locator(".checked li").evaluate_all("all => all.map((it) => it.getBoundingClientRect().left)")
    assert len({round(left) for left in lefts}) == 2


def test_home_says_how_many_of_the_most_likely_events_happened(page: Page, service: Service):
    windows = checked(service)
    share = 100 * sum(one["hits"] for one in windows) / sum(len(one["top"]) for one in windows)
    page.goto(service.url)
    expect(page.locator("#how-good")).to_contain_text(f"{share:.0f}% of the most likely events happened")
    bins = {int(10 * one["probability"]) for window in windows for one in window["reliability"]}
    chart = page.get_by_role("img", name="Share of events")
    expect(chart.locator("circle")).to_have_count(len(bins))
    box = chart.bounding_box()
    assert box is not None
    assert box["width"] <= 320
    page.get_by_role("link", name="See the record").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("How good were the forecasts?")


def test_windows_are_compared_one_after_another(page: Page, service: Service):
    windows = checked(service)
    starts = [one["start"] for one in windows]
    state = {"steps": 7, "words": "7 days", "starts": starts, "dates": starts, "checked": windows[:1]}
    page.route("**/v1/past-forecasts", lambda route: route.fulfill(json=state))
    held: list[Route] = []
    page.route("**/v1/past-forecast?**", lambda route: held.append(route))
    with page.expect_request("**/v1/past-forecast?**"):
        page.goto(f"{service.url}/record")
    expect(page.locator("#record .loading")).to_have_text(
        f"Comparing the forecasts of the past: 1 of {len(windows)} periods…"
    )
    held[0].continue_()
    expect(page.locator("#record .loading")).to_have_count(0)


def test_events_in_a_report_fit_a_narrow_screen(browser: Browser):
    style = files("titer.drawing").joinpath("style.css").read_text(encoding="utf-8")
    rows = [
        [
            "98.9%",
            "Central Bank of Iskander — grant licence to — Zephyr Turbines",
            "usually 2.0 a year, now 26.0 times as likely",
        ]
    ]
    report = document("Report", el("style", style), table(["probability", "event", "usual rate"], rows, numbers_from=9))
    for page in new_page(browser, viewport={"width": 390, "height": 800}):
        page.set_content(report)
        assert page.locator(".wide").evaluate("it => it.scrollWidth <= it.clientWidth")
