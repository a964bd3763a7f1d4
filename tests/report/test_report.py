import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from titer.cli.main import app
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.split import split_by_fraction
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.drawing.elements import el, table
from titer.errors import TiterError
from titer.models.evidence import Edge, Evidence
from titer.report.report import write_report
from titer.report.timeline import LEFT, draw_evidence
from titer.runs.run import Run
from titer.runs.train import train
from titer.training.config import Config

VOID = {"meta", "br"}


class Page(HTMLParser):
    """Checks that tags are balanced, and gathers text and what a browser would fetch."""

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
    return train(world_data, Config.from_dict({}, "recurrency"), tmp_path_factory.mktemp("runs") / "run")


def test_a_report_is_one_whole_page_that_fetches_nothing(run: Run, tmp_path: Path):
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


def test_a_name_is_never_read_as_markup(tmp_path: Path):
    names = ["<script>alert(1)</script>", "a & b", '"quoted"', "plain"]
    facts = Facts.from_rows([(i % 3, 0, (i + 1) % 4, i // 2) for i in range(60)])
    dataset = Dataset(
        "<b>world</b>", Vocabulary(names, ["meets <i>"]), TimeAxis(TimeUnit.DAY, "2020-01-01"),
        *split_by_fraction(facts, (0.6, 0.2, 0.2)),
    )  # fmt: skip
    write_report(train(dataset, Config.from_dict({}, "recurrency"), tmp_path / "run"), tmp_path / "r.html")
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert {"script", "b", "i"}.isdisjoint(Page(html).tags)
    assert "&lt;script&gt;" in html


def test_evidence_is_drawn_with_a_lane_for_each_entity_and_an_arc_for_each_fact(world_data: Dataset):
    path = (Edge(0, 0, 1, 5), Edge(1, 1, 2, 3))
    picture = draw_evidence(
        [Evidence(path, 0.7), Evidence((), 0.3, "prior")], 0, 2, 9, world_data.vocabulary, world_data.axis
    )
    assert len(picture.findall("line[@class='lane']")) == 3
    arcs = picture.findall("g")
    assert len(arcs) == 2
    assert all("before)" in (arc.findtext("title") or "") for arc in arcs)


def test_what_is_written_beside_arcs_covers_neither_names_nor_other_words(world_data: Dataset):
    old = [Evidence((Edge(0, 0, 1, day), Edge(1, 0, 2, day)), 0.1) for day in range(6)] * 2
    picture = draw_evidence(old, 0, 2, 180, world_data.vocabulary, world_data.axis)
    written = [(float(text.get("x") or 0), text.get("y")) for text in picture.findall("text[@class='relation']")]
    assert len(written) == len({y for _, y in written}) == 2
    assert all(x > LEFT for x, _ in written)
    dates = [text.text for text in picture.findall("text") if text.get("text-anchor") == "middle"]
    assert dates == ["1 Jan 2023"]  # that of the sixth would lie on top of it


def test_text_and_elements_keep_their_order():
    node = el("p", "one ", el("b", "two"), " three", class_="x")
    assert "".join(node.itertext()) == "one two three"
    assert node.get("class") == "x"
    assert len(table(["a", "b"], [["x", "1"], ["y", "2"]]).findall(".//tr")) == 3


def test_the_command_writes_a_report_and_keeps_an_older_one(run: Run, tmp_path: Path):
    words = ["report", str(run.path), "--out", str(tmp_path / "report.html"), "--examples", "0"]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    with pytest.raises(TiterError, match="exists already"):
        CliRunner().invoke(app, words, catch_exceptions=False)
    assert CliRunner().invoke(app, [*words, "--overwrite"], catch_exceptions=False).exit_code == 0
