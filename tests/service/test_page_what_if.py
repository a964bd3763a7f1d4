"""What-if on the page: facts left out and supposed, for who, whether and when."""

import json
import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, Route, expect

from service.browsing import browser_tests
from service.process import Service

pytestmark = browser_tests
TALKS = "subject=Aldoria&relation=hold+talks+with"


def suppose(page: Page, subject: str, relation: str, object: str, date: str) -> None:
    form = page.get_by_role("form", name="Suppose a fact")
    if not form.is_visible():
        page.get_by_text("What if something else had happened?").click()
    for label, value in (("Subject", subject), ("Relation", relation), ("Object", object), ("On", date)):
        form.get_by_label(label, exact=True).fill(value)
    form.get_by_role("button", name="Suppose").click()


def indent(page: Page, selector: str) -> float:
    """Return where the text of an element begins."""
    return page.locator(selector).first.evaluate("""(it) => {
      const text = document.createRange();
      text.selectNodeContents(it);
      return text.getBoundingClientRect().left;
    }""")


def week(page: Page) -> str:
    """Return the probability of the event within seven days."""
    return (
        page.locator("#whether .figures div", has_text="within 7 days").locator("dd").inner_text().split("usually")[0]
    )


def test_several_facts_are_supposed_and_left_out_and_each_is_undone(page: Page, service: Service):
    page.goto(f"{service.url}/question?{TALKS}")
    expect(page.locator("#answers li")).to_have_count(10)
    before = page.locator("#answers").inner_text()
    expect(page.locator("#about")).to_contain_text("from 1 Jan 2023 to 30 Jun 2023")
    suppose(page, "Aldoria", "hold talks with", "Newland", "2023-06-30")
    page.get_by_role("button", name="Suppose a new entity").click()
    changes = page.locator("#changes li")
    expect(changes).to_have_text([re.compile("^With: Aldoria hold talks with Newland, 30 Jun 2023")])
    expect(page.locator("#answers")).to_contain_text("Newland")
    page.locator("#answers button").first.click()
    page.locator("#reasons").get_by_role("button", name=re.compile("^Leave out")).first.click()
    expect(changes).to_have_count(2)
    suppose(page, "Drovia", "accuse", "Aldoria", "2023-06-30")
    expect(changes).to_have_count(3)
    page.get_by_role("button", name=re.compile("^Take it away: Aldoria")).click()
    expect(changes).to_have_count(2)
    expect(page.locator("#answers")).not_to_contain_text("Newland")
    assert indent(page, "#changes p button") == pytest.approx(indent(page, "#changes li span"), abs=1)
    page.get_by_role("button", name="Undo all changes").click()
    expect(changes).to_have_count(0)
    expect(page.locator("#answers")).to_have_text(re.compile(re.escape(before.split("\n")[0])))
    assert page.locator("#answers").inner_text() == before
    page.go_back()
    expect(changes).to_have_count(2)


def test_all_such_facts_are_left_out_at_once_beside_the_old_probabilities(page: Page, service: Service):
    page.goto(f"{service.url}/question?{TALKS}&answer=Drovia")
    row = page.locator("#answers").get_by_role("button", name=re.compile("Drovia"))
    before = re.findall(r"[\d.]+%", row.inner_text())
    assert len(before) == 1
    page.locator("#reasons").get_by_role(
        "button", name=re.compile("^Leave out all: Aldoria held talks with Drovia")
    ).click()
    expect(page.locator("#changes li")).to_contain_text("Without: Aldoria hold talks with Drovia, all such facts")
    first = page.locator("#answers button").first
    expect(first).to_contain_text(re.compile(r"was [\d.]+%"))
    fact = {"subject": "Aldoria", "relation": "hold talks with", "object": "Drovia"}
    with service.client() as client:
        asked = {"subject": "Aldoria", "relation": "hold talks with", "without": [fact]}
        moves = client.post("/v1/what-if", json=asked).json()["moves"]
        assert client.post("/v1/when", json={**fact, "without": [fact]}).json()["event"]["last"] is None
    expect(first).to_contain_text(moves[0]["entity"])
    old = moves[0]["probability_before"]
    expect(first).to_contain_text(f"was {100 * old:.1f}%" if old >= 0.0005 else "was <0.1%")
    page.get_by_role("button", name=re.compile("^Put it back")).click()
    expect(page.locator("#changes li")).to_have_count(0)
    expect(row).to_contain_text(before[0])


def test_when_is_forecast_again_without_a_fact_as_the_service_does(page: Page, service: Service):
    event = {"subject": "Aldoria", "relation": "hold talks with", "object": "Drovia"}
    page.goto(f"{service.url}/question?{TALKS}&object=Drovia")
    leave_out = page.locator("#whether").get_by_role("button", name=re.compile("^Leave out")).first
    expect(leave_out).to_be_visible()
    before = week(page)
    leave_out.click()
    expect(page.locator("#changes li")).to_contain_text("Without: ")
    expect(page.locator("#whether .was").first).to_have_text(re.compile("was"))
    assert f"was {before.strip()}" in week(page)
    with service.client() as client:
        known = client.get("/v1/when", params={**event, "explain": 5}).json()
        cause = known["event"]["causes"][0]["facts"][0]
        without = [{name: cause[name] for name in ("subject", "relation", "object", "time")}]
        found = client.post("/v1/when", json={**event, "without": without}).json()
    assert found["curve"] != known["curve"]
    titles = page.locator("#whether .hover title").all_text_contents()
    assert titles == [f"by {one['date']}: {100 * one['by']:.0f}%" for one in found["curve"]]
    page.get_by_role("button", name=re.compile("^Put it back")).click()
    expect(page.locator("#whether .was")).to_have_count(0)
    assert week(page) == before


def test_the_earlier_answer_is_dimmed_until_the_new_one_arrives(page: Page, service: Service):
    page.goto(f"{service.url}/question?subject=Aldoria&relation=hold+talks+with&object=Drovia")
    whether = page.locator("#whether")
    expect(whether.locator(".figures")).to_be_visible()
    expect(whether).to_have_css("opacity", "1")
    held: list[Route] = []
    page.route("**/v1/when", lambda route: held.append(route))
    with page.expect_request("**/v1/when"):
        page.get_by_role("button", name="Leave out").first.click()
    expect(whether).to_have_css("opacity", "0.5")
    held[0].continue_()
    expect(page.locator("main[aria-busy]")).to_have_count(0)
    assert whether.evaluate("it => getComputedStyle(it).opacity") == "1"  # at once
    expect(page.locator("#changes li")).to_have_count(1)


@pytest.mark.parametrize("object", ["", "&object=Drovia"], ids=["who", "when"])
def test_a_misspelt_supposed_fact_keeps_the_result_and_is_fixed_in_the_form(page: Page, service: Service, object: str):
    page.goto(f"{service.url}/question?{TALKS}{object}")
    result = page.locator("#whether" if object else "#result")
    expect(result).to_be_visible()
    expect(page.locator("main[aria-busy]")).to_have_count(0)
    before, address = result.inner_text(), page.url
    form = page.get_by_role("form", name="Suppose a fact")
    alert = page.locator("#supposing [role=alert]")
    suppose(page, "Drovia", "acuse", "Aldoria", "2023-06-29")
    expect(alert).to_contain_text("unknown relation 'acuse'")
    assert (result.inner_text(), page.url) == (before, address)
    page.get_by_role("button", name="Use “accuse”").click()
    expect(form.get_by_label("Relation")).to_have_value("accuse")
    expect(alert).to_have_count(0)
    suppose(page, "Drovia", "accuse", "Fenland", "2023-08-29")
    expect(alert).to_contain_text("only facts before the question's time")
    assert (result.inner_text(), page.url) == (before, address)
    suppose(page, "Drovia", "accuse", "Fenlnd", "2023-06-29")
    expect(page.locator("#suppose-said")).to_contain_text("“Fenlnd” is not known yet.")
    page.get_by_role("button", name="Use “Fenland”").click()
    form.get_by_role("button", name="Suppose").click()
    expect(page.locator("#changes li")).to_contain_text("Drovia accuse Fenland")
    expect(page.locator("#suppose-said")).to_be_empty()


def test_a_link_with_a_misspelt_supposed_fact_is_fixed_by_a_suggestion_or_undone(page: Page, service: Service):
    fact = {"subject": "Drovia", "relation": "acuse", "object": "Aldoria", "time": "2023-06-29"}
    page.goto(f"{service.url}/question?{TALKS}&with={quote(json.dumps([fact]))}")
    expect(page.get_by_role("alert")).to_contain_text("unknown relation 'acuse'")
    page.get_by_role("button", name="Use “accuse”").click()
    expect(page.locator("#changes li")).to_contain_text("Drovia accuse Aldoria")
    page.go_back()
    page.get_by_role("button", name="Undo all changes").click()
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.locator("#answers li")).to_have_count(10)


def test_a_fact_is_left_out_and_put_back_with_the_keyboard_alone(page: Page, service: Service):
    page.goto(f"{service.url}/question?{TALKS}&object=Drovia")
    leave_out = page.locator("#whether").get_by_role("button", name=re.compile("^Leave out")).first
    leave_out.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#changes li")).to_contain_text("Without: ")
    page.get_by_role("button", name=re.compile("^Put it back")).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#changes li")).to_have_count(0)
    expect(page.locator("#whether-title")).to_be_focused()
