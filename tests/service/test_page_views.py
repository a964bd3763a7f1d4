"""The views of entities, relations, whether and when in a real browser; accessibility of every view."""

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, Page, expect

from service.browsing import COLOUR_RULES, DARK, barriers, browser_tests, new_page
from service.process import Service
from titer.forecasting.events.tables import EVENT_SCHEMA, STEP_SCHEMA

pytestmark = browser_tests
TALKS = "subject=Aldoria&relation=hold+talks+with"
LEFT_OUT = {"question", "causes", "against", "reasons", "error"}
"""Columns of files that a copied list does not have."""
VIEWS = {
    "home": "/",
    "filtered": "/?entity=Aldoria&sort=lift",
    "examples": "/question",
    "who": f"/question?{TALKS}&answer=Drovia",
    "when": f"/question?{TALKS}&object=Drovia",
    "entity": "/entity?name=Aldoria",
    "relation": "/relation?name=hold+talks+with",
    "record": "/record",
    "facts": "/facts",
    "error": "/entity?name=Aldorai",
}


def show(page: Page, service: Service, view: str) -> None:
    """Open a view, and wait until it is complete."""
    page.goto(service.url + VIEWS[view])
    expect(page.locator("#about")).to_contain_text("small-world")
    expect(page.locator("main[aria-busy]")).to_have_count(0)
    expect(page.locator(".loading:visible")).to_have_count(0)


def get(service: Service, path: str, **parameters: str | int) -> dict[str, list[dict[str, object]]]:
    with service.client() as client:
        return client.get(path, params=parameters).json()


def test_an_entity_has_its_past_its_partners_and_its_likely_events(page: Page, service: Service):
    show(page, service, "entity")
    expect(page.get_by_role("heading", level=1)).to_have_text("Aldoria")
    past = get(service, "/v1/entity", name="Aldoria", limit=12)
    bars = page.get_by_role("img", name="Facts with Aldoria over time").locator("rect.first")
    expect(bars).to_have_count(len(past["timeline"]))
    dates = page.get_by_role("img", name="Facts with Aldoria over time").locator("text").all_text_contents()
    known = [bar["date"] for bar in past["timeline"]]
    assert len(set(dates) & set(known)) >= 4
    # On a wide screen, the latest facts are beside the partners.
    tops = [page.get_by_role("heading", name=name, exact=True).bounding_box() for name in ("Usual partners", "Lately")]
    assert tops[0] is not None
    assert tops[1] is not None
    assert tops[0]["y"] == tops[1]["y"]
    for title, key in (("Usual partners", "partners"), ("Is the subject of", "does"), ("Is the object of", "receives")):
        part = page.locator("section", has=page.get_by_role("heading", name=title, exact=True))
        assert part.locator("a").all_inner_texts() == [one["name"] for one in past[key]]
        assert part.locator(".number").all_inner_texts() == [str(one["facts"]) for one in past[key]]
    does, receives = page.locator(".halves section").all()
    assert all(line.startswith("Aldoria ") for line in does.locator(".fact-line").all_inner_texts())
    assert all(line.endswith(" Aldoria") for line in receives.locator(".fact-line").all_inner_texts())


def test_partners_and_relations_are_reached_by_clicking_and_left_by_the_back_button(page: Page, service: Service):
    show(page, service, "entity")
    partner = page.locator("section", has=page.get_by_role("heading", name="Usual partners")).locator("a").first
    name = partner.inner_text()
    partner.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    assert page.evaluate("scrollY") == 0
    page.locator("section", has=page.get_by_role("heading", name="Is the subject of", exact=True)).locator(
        "a"
    ).first.click()
    expect(page.get_by_role("heading", name="Pairs")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(page.get_by_role("heading", name="Usual partners")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Aldoria")


def test_a_relation_has_its_past_its_pairs_and_its_likely_events(page: Page, service: Service):
    show(page, service, "relation")
    past = get(service, "/v1/relation", name="hold talks with", limit=12)
    pairs = page.locator("section", has=page.get_by_role("heading", name="Pairs")).locator(".fact-line")
    assert pairs.all_inner_texts() == [f"{one['subject']}, {one['object']}" for one in past["pairs"]]
    likely = page.locator(".events .relation").all_inner_texts()
    assert likely
    assert set(likely) == {"hold talks with"}


def test_a_misspelt_entity_is_fixed_by_a_suggestion(page: Page, service: Service):
    page.goto(service.url + VIEWS["error"])
    expect(page.get_by_role("alert")).to_contain_text("unknown entity 'Aldorai'")
    page.get_by_role("button", name="Use “Aldoria”").click()
    expect(page.get_by_role("heading", name="Usual partners")).to_be_visible()
    expect(page.get_by_role("alert")).to_be_hidden()


def test_a_question_with_subject_and_object_is_answered_by_whether_and_when(page: Page, service: Service):
    page.goto(f"{service.url}/question")
    for label, name in (("Subject", "Aldoria"), ("Relation", "hold talks with"), ("Object", "Drovia")):
        page.locator("#question").get_by_label(label).fill(name)
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#whether .figures dt")).to_have_text(
        ["within 1 day", "within 7 days", "within 14 days", "within 30 days"]
    )
    found = get(service, "/v1/when", subject="Aldoria", relation="hold talks with", object="Drovia")
    week, event = found["curve"][6], page.locator("#whether .figures div", has_text="within 7 days").locator("dd")
    expected = sum(float(str(one["probability"])) for one in found["curve"][:7])
    usual, by = float(str(week["usual"])), float(str(week["by"]))
    expect(event).to_contain_text(f"usually {100 * usual:.0f}%, now {by / usual:.1f}× {expected:.1f} times expected")
    shown = page.locator("#whether .hover title").all_text_contents()
    assert shown == [f"by {one['date']}: {100 * float(str(one['by'])):.0f}%" for one in found["curve"]]
    expect(page.locator("#answers")).to_be_hidden()
    page.locator("#object").fill("")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#answers li")).to_have_count(10)
    expect(page.locator("#whether")).to_be_hidden()
    page.go_back()
    expect(page.locator("#whether .figures")).to_be_visible()


def test_a_fact_that_holds_is_asked_when_it_ends(page: Page, service: Service):
    asked = {"subject": "Aldoria", "relation": "hold talks with", "object": "Drovia", "explain": 5}
    with service.client() as client:
        found = client.get("/v1/when", params=asked).json()
    # The small world has no lasting relation, so the answer of the service is that of another event.
    evidence = {"causes": [], "reasons": [], "against": found["event"]["causes"]}
    ends = {**found, "event": {**found["event"], "kind": "ends", **evidence}}
    page.route("**/v1/when?*", lambda route: route.fulfill(json=ends))
    show(page, service, "when")
    whether = page.locator("#whether")
    expect(whether.locator(".figures dt").first).to_have_text("ends within 1 day")
    expect(whether.locator(".figures dd").nth(1)).to_contain_text(re.compile(r"holds in \d\.\d of 7 days"))
    expect(whether.get_by_role("heading", name="Probability that it has ended by")).to_be_visible()
    expect(whether.get_by_role("img", name="Probability that it has ended by each step")).to_be_visible()
    expect(whether).to_contain_text("It has ended with a probability of")
    expect(whether.get_by_role("heading", name="What speaks against its end")).to_be_visible()
    expect(whether.get_by_role("heading", name="What makes it likely now")).to_have_count(0)
    # With a change, the fact no longer holds. Whether it happens is not compared with whether it has ended.
    whether.get_by_role("button", name=re.compile("^Leave out")).first.click()
    expect(whether).to_contain_text(f"Before the change: {found['meaning']}.")
    expect(whether.locator(".figures dt").first).to_have_text("within 1 day")
    expect(whether.locator(".was")).to_have_count(0)


def test_examples_are_questions_with_answers(page: Page, service: Service):
    show(page, service, "examples")
    examples = page.locator("#examples a")
    expect(examples).to_have_count(12)
    # Of the likely events, those with the highest lift, one of each relation.
    found = get(service, "/v1/events", within=7, top=100)["events"]
    likely = [one for one in found if float(str(one["probability"])) >= 0.3]
    likely.sort(key=lambda one: -float("inf" if one["lift"] is None else str(one["lift"])))
    best = {str(one["relation"]): one for one in reversed(likely)}
    for one in sorted(best.values(), key=likely.index)[:4]:
        expect(examples.filter(has_text=f"{one['subject']} {one['relation']} {one['object']}: when?")).to_have_count(1)
    examples.first.click()
    expect(page.locator("#answers li")).to_have_count(10)
    page.go_back()
    examples.nth(2).click()
    expect(page.locator("#whether .figures")).to_be_visible()


def copied_rows(page: Page) -> list[dict[str, str]]:
    page.evaluate("navigator.clipboard.writeText('')")
    page.get_by_role("button", name="Copy CSV").click()
    page.wait_for_function("navigator.clipboard.readText().then((text) => text.startsWith('start,'))")
    return list(csv.DictReader(io.StringIO(page.evaluate("navigator.clipboard.readText()"))))


def test_events_are_copied_as_csv_and_json(browser: Browser, service: Service):
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    show(page, service, "home")
    found = get(service, "/v1/events", within=7, top=25)["events"]
    rows = copied_rows(page)
    # The columns of `titer events --out`, which also have the number of the question and evidence.
    assert list(rows[0]) == [name for name in EVENT_SCHEMA.names if name not in LEFT_OUT]
    names = ("subject", "relation", "object", "kind", "rate")
    assert [[row[name] for name in names] for row in rows] == [[one[name] for name in names] for one in found]
    assert [float(row["probability"]) for row in rows] == [one["probability"] for one in found]
    assert {(row["start"], row["end"], row["steps"]) for row in rows} == {("2023-07-01", "2023-07-07", "7")}
    page.get_by_role("button", name="Copy JSON").click()
    page.wait_for_function("navigator.clipboard.readText().then((text) => text.startsWith('{'))")
    assert json.loads(page.evaluate("navigator.clipboard.readText()"))["events"] == found
    show(page, service, "when")
    rows = copied_rows(page)
    assert list(rows[0]) == [name for name in STEP_SCHEMA.names if name not in LEFT_OUT]
    assert {(row["subject"], row["relation"], row["object"]) for row in rows} == {
        ("Aldoria", "hold talks with", "Drovia")
    }
    assert [row["ahead"] for row in rows] == [str(ahead) for ahead in range(1, 31)]
    context.close()


def test_a_copied_name_that_a_spreadsheet_would_run_gets_an_apostrophe(page: Page, service: Service):
    page.goto(service.url)
    rows = "[{ name: '=1+1', other: '-0.5', lift: -0.5 }, { name: '@sum', other: 'a, b', lift: 2 }]"
    text = page.evaluate(f"import('/page/export.js').then(({{ csv }}) => csv({rows}))")
    assert text == "name,other,lift\n'=1+1,-0.5,-0.5\n'@sum,\"a, b\",2\n"


@pytest.mark.parametrize("view", ["when", "who", "entity"])
def test_pictures_are_saved_as_svg_without_a_style_sheet(page: Page, service: Service, tmp_path: Path, view: str):
    show(page, service, view)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download SVG").click()
    download.value.save_as(tmp_path / "picture.svg")
    picture = ElementTree.parse(tmp_path / "picture.svg").getroot()
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    words = list(picture.iter("{http://www.w3.org/2000/svg}text"))
    assert words
    assert all(word.get("font-size") and word.get("fill", "").startswith("rgb") for word in words)


@pytest.mark.parametrize("width", [1280, 390])
def test_every_view_is_accessible_and_needs_no_sideways_scrolling(browser: Browser, service: Service, width: int):
    for page in new_page(browser, viewport={"width": width, "height": 800}):
        for view in VIEWS:
            page.emulate_media(color_scheme="light")
            show(page, service, view)
            if view == "home":
                page.get_by_role("button", name=re.compile("^Why")).first.click()
                expect(page.locator(".more li").first).to_be_visible()
            assert not barriers(page), view
            assert page.evaluate("document.documentElement.scrollWidth") <= width, view
            # The same elements in other colours: the other rules would find the same.
            page.emulate_media(color_scheme="dark")
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == DARK, view
            assert not barriers(page, COLOUR_RULES), view
            assert page.evaluate("document.documentElement.scrollWidth") <= width, view


def test_dates_are_worded_as_the_service_words_them(page: Page, service: Service):
    page.goto(service.url)
    labels = ["2023-06-30", "2023-06", "2023-06-30 07:00", "2023-Q2", "2023", "17", "2023-13-01"]
    words = page.evaluate(
        "labels => import('/page/elements.js').then(({ dateWords }) => labels.map(dateWords))", labels
    )
    assert words == ["30 Jun 2023", "Jun 2023", "30 Jun 2023, 07:00", "Q2 2023", "2023", "17", "2023-13-01"]


def test_a_narrow_screen_shows_evidence_without_gaps(browser: Browser, service: Service):
    for page in new_page(browser, viewport={"width": 390, "height": 800}):
        show(page, service, "when")
        words, button = page.locator("#whether .reasons li").first.locator("> span:not(.number)").all()
        boxes = words.bounding_box(), button.bounding_box()
        assert boxes[0] is not None
        assert boxes[1] is not None
        assert boxes[1]["y"] - boxes[0]["y"] - boxes[0]["height"] < 8


def test_the_accessibility_check_finds_unlabelled_fields_and_pale_text(page: Page, service: Service):
    show(page, service, "examples")
    assert not barriers(page)
    page.evaluate("document.querySelector('label[for=relation]').remove()")
    assert "label" in barriers(page)
    assert not barriers(page, COLOUR_RULES)
    page.evaluate("document.querySelector('h1, h2').style.color = '#ddd'")
    assert "color-contrast" in barriers(page, COLOUR_RULES)


@pytest.mark.parametrize("view", ["entity", "relation", "who", "when", "record", "facts"])
def test_everything_clickable_is_reached_with_the_tab_key_in_order(page: Page, service: Service, view: str):
    show(page, service, view)
    clickable = page.locator("a[href], button, input, select, summary, [role=button]").locator("visible=true")
    expected = clickable.evaluate_all("all => all.map((one) => one.tagName + (one.id || one.textContent))")
    reached: list[str] = []
    for _ in expected:
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "document.activeElement.tagName + (document.activeElement.id || document.activeElement.textContent)"
            )
        )
    assert reached == expected


def test_an_entity_is_found_with_the_keyboard_alone(page: Page, service: Service):
    show(page, service, "home")
    page.get_by_label("Who").focus()
    page.keyboard.type("Aldoria")
    page.keyboard.press("Enter")
    expect(page.locator("#likely .fact-line").first).to_contain_text("Aldoria")
    link = page.locator("#likely .fact-line a", has_text=re.compile("^Aldoria$")).first
    link.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Aldoria")
    expect(page.get_by_role("heading", level=1)).to_be_focused()


@pytest.mark.parametrize("width", [1280, 390])
def test_an_entity_or_relation_is_found_by_name_in_every_view(browser: Browser, service: Service, width: int):
    for page in new_page(browser, viewport={"width": width, "height": 800}):
        show(page, service, "record")
        heading, field = page.get_by_role("heading", level=1), page.get_by_label("Find an entity or relation")
        field.press_sequentially("br")
        options = page.get_by_role("option")
        expect(options.last).to_have_text(re.compile(r"^briefrelation, \d+ facts$"))
        expect(options.first).to_have_text(re.compile(r"^Brenmark\d+ facts$"))
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert not barriers(page)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(heading).to_have_text("Brenmark")
        expect(heading).to_be_focused()
        expect(field).to_have_value("")
        field.fill("brief")  # without choosing from the list
        page.keyboard.press("Enter")
        expect(heading).to_have_text("brief")
        assert "/relation?name=brief" in page.url
        field.fill("Aldorai")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("unknown entity 'Aldorai'")


def test_the_past_of_an_entity_is_shown_when_the_forecast_fails(page: Page, service: Service):
    problem = {"error": {"code": "too_slow", "message": "the request took more than 30 seconds"}}
    page.route("**/v1/events?**", lambda route: route.fulfill(status=503, json=problem))
    show(page, service, "entity")
    expect(page.locator(".halves .bad")).to_have_text(["the request took more than 30 seconds"] * 2)
    expect(page.get_by_role("heading", name="Usual partners")).to_be_visible()
