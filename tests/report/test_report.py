import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from commands import titer
from quick_events import store_quick_events
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.split import split_by_fraction
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.drawing.elements import el, table
from titer.errors import TiterError
from titer.events.metrics import EventBin
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.past_windows import PastWindows
from titer.forecasting.track_record import CheckedForecast
from titer.forecasting.wording.render import SHARES
from titer.report.events import pooled_bins
from titer.report.report import write_report
from titer.runs.run import Run
from titer.runs.train import train
from titer.training.config import Config

pytestmark = pytest.mark.slow  # an event model is trained

VOID = {"meta", "br"}


class Page(HTMLParser):
    """A parser that checks that tags are balanced, and collects text and external resources."""

    def __init__(self, html: str):
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.fetched: list[str] = []
        self.tags: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open += [] if tag in VOID else [tag]
        self.fetched += [value for name, value in attrs if name in ("src", "href") and value]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def run(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = train(world_data, Config.from_dict({}, "recurrency"), tmp_path_factory.mktemp("runs") / "run")
    store_quick_events(run.path)
    return run


def test_metrics_are_explained_and_baselines_belong_to_the_row_above(
    path_mixture_run: Path, run_copy: Callable[[Path], Path], tmp_path: Path
):
    run = run_copy(path_mixture_run)
    store_quick_events(run)
    write_report(Run(run), tmp_path / "report.html", examples=0)
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "MRR is the mean of 1 / rank" in html
    assert '<span class="within">recurrency (baseline)</span>' in html


def test_a_report_is_one_page_without_external_resources(run: Run, tmp_path: Path):
    write_report(run, tmp_path / "report.html", examples=2)
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Page(html)
    assert page.open == []
    assert page.fetched == []
    assert "script" not in page.tags
    assert not re.search(r"https?://|@import|url\(", html)
    text = " ".join(page.words)
    for part in ("recurrency on small-world", "MRR", "Expected calibration error", "hold talks with", "Settings"):
        assert part in text
    assert "timeline" in html


def test_names_are_never_read_as_markup(tmp_path: Path):
    names = ["<script>alert(1)</script>", "a & b", '"quoted"', "plain"]
    facts = Facts.from_rows([(i % 3, 0, (i + 1) % 4, i // 2) for i in range(60)])
    dataset = Dataset(
        "<b>world</b>", Vocabulary(names, ["meets <i>"]), TimeAxis(TimeUnit.DAY, "2020-01-01"),
        *split_by_fraction(facts, (0.6, 0.2, 0.2)),
    )  # fmt: skip
    run = train(dataset, Config.from_dict({}, "recurrency"), tmp_path / "run")
    store_quick_events(run.path)
    write_report(run, tmp_path / "r.html")
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert {"script", "b", "i"}.isdisjoint(Page(html).tags)
    assert "&lt;script&gt;" in html


def test_a_report_gives_the_same_evidence_as_a_forecast(run: Run, tmp_path: Path):
    write_report(run, tmp_path / "report.html", device="cpu", examples=1)
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    question = re.search(r"<h3>([^<]+) — ([^<]+) — ([^<]+), ([^<]+)</h3>", html)
    assert question is not None
    subject, relation, object, date = question.groups()
    asked = Forecaster.load(run, "cpu").ask(subject, relation, object, at=date, top=1, explain=5)
    reason = asked.answers[0].reasons[0]
    assert f"<li>{reason.share:.0%}: {reason.text}</li>" in html
    assert SHARES in html
    assert reason.facts[0].sentence in html
    assert html.count('class="titer-timeline"') == html.count("<figure><svg") >= 2


def test_a_report_has_the_most_likely_events_and_the_surprises_of_the_forecaster(run: Run, tmp_path: Path):
    write_report(run, tmp_path / "report.html", device="cpu", examples=0)
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    forecaster = Forecaster(run.load_model("cpu"), run.dataset, run=run)
    for event in forecaster.events(within=7, top=20).events:
        assert f"<td>{event.subject} — {event.relation} — {event.object}</td>" in html.replace(' class=""', "")
    windows = PastWindows(forecaster)
    checked = [windows.check(start) for start in windows.starts]
    assert len(checked) >= 2
    for window in checked:
        assert f"{window.hits} of {len(window.top)}" in html
        assert window.surprises[0].subject in html
    assert "Events that happened by probability" in html
    for part in ("Likely, but did not happen", "Unlikely, but happened"):
        assert part in html


def test_a_report_on_the_validation_split_shows_nothing_of_the_test_split(run: Run, tmp_path: Path):
    write_report(run, tmp_path / "report.html", device="cpu", split="valid", examples=0)
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Most likely events" in html
    assert "Past forecasts of events" not in html
    assert "Surprises" not in html


def test_pooled_bins_are_those_of_all_forecasts_together():
    def window(*bins: EventBin) -> CheckedForecast:
        return CheckedForecast("", "", 1, "", 0, 0.0, 0, 0.0, (), (), bins)

    pooled = pooled_bins([window(EventBin(10, 0.05, 0.1), EventBin(2, 0.95, 1.0)), window(EventBin(30, 0.01, 0.0))])
    assert [one.queries for one in pooled] == [40, 2]
    assert pooled[0].confidence == pytest.approx((10 * 0.05 + 30 * 0.01) / 40)
    assert pooled[0].accuracy == pytest.approx(1 / 40)


def test_text_and_elements_keep_their_order():
    node = el("p", "one ", el("b", "two"), " three", class_="x")
    assert "".join(node.itertext()) == "one two three"
    assert node.get("class") == "x"
    assert len(table(["a", "b"], [["x", "1"], ["y", "2"]]).findall(".//tr")) == 3


def test_the_command_does_not_overwrite_a_report_by_default(run: Run, tmp_path: Path):
    words = ["report", str(run.path), "--out", str(tmp_path / "report.html"), "--examples", "0"]
    titer(*words)
    with pytest.raises(TiterError, match="already exists"):
        titer(*words)
    titer(*words, "--overwrite")
