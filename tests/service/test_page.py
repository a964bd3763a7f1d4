"""The page in a real browser, against a real service."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from service.browsing import DARK, browser_tests, new_page, served
from service.process import Service
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.split import split_by_fraction
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.runs.train import train
from titer.training.config import Config

EVIL = "<script>document.title='stolen'</script>"

pytestmark = browser_tests


def field(page: Page, name: str) -> Locator:
    """Return a field of the question."""
    return page.locator("#question").get_by_label(name)


def ask(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/question")
    field(page, "Subject").fill("Aldoria")
    field(page, "Relation").fill("hold talks with")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#answers li")).to_have_count(10)


def ask_why(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/?subject=Aldoria&relation=hold+talks+with&answer=Drovia")
    expect(page.locator("#explained")).to_contain_text("Why Drovia?")


def test_a_question_is_completed_and_answered_with_bars(page: Page, service: Service):
    page.goto(f"{service.url}/question")
    expect(page.locator("#about")).to_contain_text("small-world")
    field(page, "Subject").press_sequentially("aldo")
    expect(page.get_by_role("option").first).to_have_text(re.compile(r"^Aldoria\d+ facts$"))
    ask(page, service)
    expect(page.locator("#asked")).to_have_text("Aldoria — hold talks with — ?, 1 Jul 2023")
    first = page.locator("#answers li").first
    expect(first).to_contain_text("%")
    widths = [float(bar.get_attribute("width") or 0) for bar in page.locator("#answers rect").all()]
    assert widths == sorted(widths, reverse=True)
    shown = page.locator("#answers li span.number:nth-of-type(3)").all_inner_texts()
    assert len(shown) == len(widths)
    assert all((text == "<0.1%") == (width == 0) for text, width in zip(shown, widths, strict=True))


def test_text_typed_before_the_first_response_is_kept(page: Page, service: Service):
    held: list[Route] = []
    page.route("**/v1/model", lambda route: held.append(route))
    with page.expect_request("**/v1/model"):
        page.goto(f"{service.url}/question")
    field(page, "Subject").fill("Aldoria")
    for route in held:
        route.continue_()
    expect(page.locator("#about")).to_contain_text("small-world")
    expect(field(page, "Subject")).to_have_value("Aldoria")


def test_an_answer_shows_its_evidence_by_mouse_and_by_keyboard(page: Page, service: Service):
    ask(page, service)
    page.get_by_role("button", name=re.compile("Lumeria")).click()
    expect(page.locator("#explained")).to_contain_text("Why Lumeria?")
    facts = page.locator("#timeline .fact")
    assert facts.count() >= 5
    assert page.locator("#timeline .relation").count() >= 2
    expect(page.locator("#reasons li").first).to_contain_text("before")
    expect(facts.last.locator("title")).to_contain_text("of the weight")
    facts.last.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#changes")).to_contain_text("Without:")


def test_selecting_an_answer_does_not_score_the_question_again(page: Page, service: Service):
    ask(page, service)
    scored: list[str] = []
    asking = re.compile("/v1/(forecast|explain|what-if)")
    page.on("request", lambda request: scored.append(request.url) if asking.search(request.url) else None)
    for answer in page.locator("#answers button[data-key]").all()[:2]:
        name = answer.get_attribute("data-key")
        with page.expect_response("**/v1/picture"):
            answer.click()
        expect(page.locator("#explained")).to_contain_text(f"Why {name}?")
    assert scored == []


def test_answers_say_what_their_probability_means_and_that_they_can_be_selected(page: Page, service: Service):
    ask(page, service)
    meaning = page.locator("#meaning")
    expect(meaning).to_contain_text("if Aldoria — hold talks with — ? happens on 1 Jul 2023")
    expect(page.get_by_text("Select an answer to see the facts that support it.")).to_be_visible()
    expect(page).to_have_title("Aldoria — hold talks with — ?, 1 Jul 2023 – titer")


def test_on_a_phone_a_selected_answer_brings_its_evidence_into_view(browser: Browser, service: Service):
    for page in new_page(browser, viewport={"width": 390, "height": 700}):
        ask(page, service)
        page.get_by_role("button", name=re.compile("Lumeria")).click()
        expect(page.locator("#explained")).to_be_in_viewport()
        # The latest fact is shown first, and before it as much as fits.
        timeline = page.locator("#timeline")
        assert timeline.evaluate("it => it.scrollWidth > it.clientWidth")
        space = timeline.evaluate(
            "it => it.getBoundingClientRect().right - "
            "Math.max(...[...it.querySelectorAll('[data-fact]')].map((fact) => fact.getBoundingClientRect().right))"
        )
        assert space == pytest.approx(16, abs=2) or timeline.evaluate(
            "it => it.scrollLeft === 0 || it.scrollLeft >= it.scrollWidth - it.clientWidth - 1"
        )
        assert space > -2
        # Names that are scrolled out of view move along.
        names = timeline.locator(".name")
        assert timeline.evaluate("it => it.scrollLeft") > 0
        for place in (0, 60, 10_000):
            timeline.evaluate("(it, place) => it.scrollTo(place, 0)", place)
            page.wait_for_timeout(100)
            left = timeline.evaluate("it => it.getBoundingClientRect().left")
            assert all((name.bounding_box() or {"x": -1})["x"] >= left - 1 for name in names.all())
        expect(page.locator("#answers svg").first).to_be_visible()


def test_evidence_whose_share_rounds_to_zero_is_hidden(page: Page, service: Service):
    ask_why(page, service)
    expect(page.locator("#reasons li")).to_have_count(1)
    expect(page.locator("#reasons li")).to_contain_text("100% Aldoria held talks with Drovia")
    expect(page.locator("#timeline .fact")).to_have_count(1)


def test_a_subgraph_is_drawn_with_its_entities_between(page: Page, world_data: Dataset, tmp_path: Path):
    small = {"num_edges": [8, 8], "kept_edges": 8, "entity_dim": 8, "time_dim": 8, "attention_dim": 8}
    for service in served(world_data, tmp_path / "run", "xerte", **small):
        ask_why(page, service)
        expect(page.locator("#reasons")).to_contain_text("; then ")
        assert page.locator("#timeline .fact").count() > 2
        assert page.locator("#timeline .lane").count() > 2


def test_a_model_without_evidence_says_so(page: Page, world_data: Dataset, tmp_path: Path):
    for service in served(world_data, tmp_path / "run", "ttranse", dim=8):
        ask_why(page, service)
        expect(page.locator("#reasons")).to_have_text("The model has no evidence to show for this answer.")
        expect(page.get_by_text("Each arc is a fact")).to_be_hidden()
        expect(page.locator("#timeline .fact")).to_have_count(0)


def test_keyboard_focus_is_kept(page: Page, service: Service):
    ask(page, service)
    here = page.locator("#answers").get_by_role("button", name=re.compile("Drovia"))
    here.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#explained")).to_contain_text("Why Drovia?")
    expect(here).to_be_focused()
    facts = page.locator("#timeline .fact")
    facts.last.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#changes")).to_contain_text("Without:")
    expect(page.locator("#explained")).to_be_focused()  # the fact itself is gone
    page.get_by_role("button", name="Put it back").focus()
    page.keyboard.press(" ")
    expect(page.locator("#changes")).to_be_empty()
    expect(page.locator("#asked")).to_be_focused()


def test_changes_are_announced_to_screen_readers(page: Page, service: Service):
    ask(page, service)
    expect(page.get_by_role("status")).to_have_text(re.compile(r"^10 answers\. The first: .+, \d+\.\d%\.$"))
    page.get_by_role("button", name=re.compile("Drovia")).click()
    expect(page.get_by_role("status")).to_contain_text("Why Drovia? Rank")
    expect(page.get_by_role("region", name=re.compile("Why Drovia"))).to_be_visible()


def test_a_removed_fact_moves_the_answers_and_can_be_restored_and_linked(
    page: Page, browser: Browser, service: Service
):
    ask(page, service)
    page.get_by_role("button", name=re.compile("Drovia")).click()
    expect(page.locator("#explained")).to_contain_text("Why Drovia?")
    before = page.locator("#explained").text_content()
    page.locator("#timeline .fact").last.click()
    expect(page.locator("#changes")).to_contain_text("Without: Aldoria")
    expect(page.locator("#explained")).not_to_have_text(before or "")
    changed = page.locator("#answers").inner_text()
    other = browser.new_page()
    other.goto(page.url)
    expect(other.locator("#changes")).to_contain_text("Without: Aldoria")
    assert other.locator("#answers").inner_text() == changed
    other.close()
    page.get_by_role("button", name="Put it back").click()
    expect(page.locator("#explained")).to_have_text(before or "")
    page.go_back()
    expect(page.locator("#changes")).to_contain_text("Without: Aldoria")


def test_a_misspelt_name_is_fixed_by_a_suggestion(page: Page, service: Service):
    page.goto(f"{service.url}/?subject=Aldorai&relation=hold+talks+with")
    expect(page.get_by_role("alert")).to_contain_text("unknown entity 'Aldorai'")
    page.get_by_role("button", name="Use “Aldoria”").click()
    expect(page.locator("#answers li")).to_have_count(10)
    expect(page.get_by_role("alert")).to_be_hidden()


def test_a_misspelt_name_with_quotes_is_fixed_by_a_suggestion(page: Page, service: Service):
    page.goto(f"{service.url}/?subject=Aldori'a&relation=hold+talks+with")
    page.get_by_role("button", name="Use “Aldoria”").click()
    expect(page.locator("#answers li")).to_have_count(10)


def test_a_crafted_link_runs_no_script_and_asks_its_own_question(page: Page, service: Service):
    evil = "%3Cimg%20src%3Dx%20onerror%3Ddocument.title%3D%27stolen%27%3E"
    for link in (
        f"?subject={evil}&relation={evil}&at={evil}&answer={evil}",
        f"?subject=Aldoria&relation=hold+talks+with&answer={evil}",
        f'?subject=Aldoria&relation=hold+talks+with&without=[{{"subject":"{evil}"}}]',
        "?subject=Aldoria&relation=hold+talks+with&without=[[[[1]]],null]",
    ):
        page.goto(f"{service.url}/{link}")
        expect(page.get_by_role("alert")).to_be_visible()
        assert page.locator("main img").count() == 0
        assert page.title() != "stolen"
    page.goto(f"{service.url}/?subject=Aldoria&relation=hold+talks+with&without=nonsense")
    expect(page.locator("#answers li")).to_have_count(10)


def test_markup_in_names_is_shown_as_text(page: Page, tmp_path: Path):
    facts = Facts.from_rows([(0, 0, 1 + i % 2, i // 2) for i in range(60)])
    vocabulary = Vocabulary([EVIL, "plain <b>", "other"], ["meets <img src=x onerror=alert(1)>"])
    axis = TimeAxis(TimeUnit.DAY, "2020-01-01")
    dataset = Dataset("evil", vocabulary, axis, *split_by_fraction(facts, (0.6, 0.2, 0.2)))
    for service in served(dataset, tmp_path / "run"):
        page.goto(f"{service.url}/question")
        field(page, "Subject").fill(EVIL)
        field(page, "Relation").fill("meets <img src=x onerror=alert(1)>")
        page.get_by_role("button", name="Ask").click()
        page.get_by_role("button", name=re.compile("plain <b>")).click()
        expect(page.locator("#explained")).to_contain_text("plain <b>")
        expect(page.locator("#asked")).to_contain_text(EVIL)
        assert page.title() != "stolen"
        assert page.locator("main script, main img, #answers b").count() == 0


def test_an_unreachable_service_is_reported(page: Page, world_data: Dataset, tmp_path: Path):
    train(world_data, Config.from_dict({}, "recurrency"), tmp_path / "run")
    service = Service(tmp_path / "run")
    ask(page, service)
    assert service.stop() == 0
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_screen_needs_no_sideways_scrolling(browser: Browser, service: Service, scheme):
    page = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page.goto(f"{service.url}/?subject=Aldoria&relation=hold+talks+with&answer=Drovia")
    expect(page.locator("#explained")).to_contain_text("Why Drovia?")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert (page.evaluate("getComputedStyle(document.body).backgroundColor") == DARK) == (scheme == "dark")
    page.close()
