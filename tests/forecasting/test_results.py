"""Results are plain values: they turn into JSON, and a web framework can describe them."""

import json
import sys
from html.parser import HTMLParser
from typing import Any

import pytest
from pydantic import TypeAdapter

from titer.errors import MissingPackageError
from titer.forecasting.forecast import Forecast, Unanswered
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.question import Question
from titer.forecasting.tables import to_table
from titer.forecasting.what_if import WhatIf


def as_json(kind: Any, value: Any) -> Any:
    return json.loads(TypeAdapter(kind).dump_json(value, by_alias=True))


def results(forecaster: Forecaster) -> list[Any]:
    question = Question("Caldera", "hold talks with", None, "2023-07-01")
    without, with_ = ["Caldera | hold talks with | Drovia | 2023-06-28"], ["Newland | accuse | Caldera | 2023-06-29"]
    (unanswered,) = forecaster.ask_many([Question("Caldora", "hold talks with", None, 7)])
    return [
        forecaster.ask("Caldera", "hold talks with", at="2023-07-01", explain=3),
        forecaster.what_if(question, without=without, with_=with_, explain=2),
        unanswered,
    ]


def test_a_framework_writes_the_same_json_as_to_dict(forecaster: Forecaster):
    for result in results(forecaster):
        assert as_json(type(result), result) == json.loads(json.dumps(result.to_dict()))
    assert as_json(list[Forecast | Unanswered], results(forecaster)[::2]) == [
        json.loads(json.dumps(result.to_dict())) for result in results(forecaster)[::2]
    ]


@pytest.mark.parametrize("kind", [Forecast, Unanswered, WhatIf])
def test_every_field_is_described_and_always_there(kind: type):
    schema = TypeAdapter(kind).json_schema(mode="serialization", by_alias=True)
    for name, part in {kind.__name__: schema, **schema.get("$defs", {})}.items():
        assert part["description"]
        assert set(part["required"]) == set(part["properties"])
        for field, about in part["properties"].items():
            assert about.get("description"), f"{name}.{field}"


def test_an_unanswered_question_keeps_its_exception(forecaster: Forecaster):
    unanswered = results(forecaster)[2]
    assert "Caldera" in unanswered.suggestions
    assert str(unanswered).startswith("Caldora — hold talks with — ?, 7\nerror: ")
    assert unanswered.error in str(unanswered.exception).replace("\n", ". ")


class Tags(HTMLParser):
    """The tags of a piece of HTML, which must be balanced."""

    def __init__(self, html: str):
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_notebooks_show_forecasts_and_what_ifs_as_tables(forecaster: Forecaster):
    found, what_if, _ = results(forecaster)
    html = found._repr_html_()
    assert Tags(html).seen.count("tr") == 1 + len(found.answers)
    for part in (
        "Caldera — hold talks with — ?, 2023-07-01",
        found.answers[0].entity,
        found.answers[0].reasons[0].text,
    ):
        assert part in html
    html = what_if._repr_html_()
    assert Tags(html).seen.count("tr") == 1 + len(what_if.moves)
    for part in (f"without: {what_if.without[0]}", "new entities: Newland"):
        assert part in html
    assert "No answer" in forecaster.ask("Aldoria", "invite", at="2023-01-01")._repr_html_()


def test_names_in_notebooks_are_never_read_as_markup(forecaster: Forecaster):
    evil = "<script>alert(1)</script>"
    question = Question("Caldera", "hold talks with", None, "2023-07-01")
    put = [(evil, "hold talks with", "Caldera", "2023-06-30")]
    found = forecaster.what_if(question, with_=put, top=200, explain=1)
    for html in (found._repr_html_(), found.after._repr_html_()):
        assert "script" not in Tags(html).seen
        assert "&lt;script&gt;" in html


def test_forecasts_become_data_frames(forecaster: Forecaster, monkeypatch: pytest.MonkeyPatch):
    found, _, unanswered = results(forecaster)
    pandas = pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["answer"]) == [answer.entity for answer in found.answers]
    assert list(to_table([found, unanswered]).to_pandas()["question"]) == [1] * len(found.answers) + [2]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match="pip install pandas"):
        found.to_pandas()


def test_forecasts_and_answers_have_short_representations(forecaster: Forecaster) -> None:
    found = forecaster.ask("Caldera", "hold talks with", at="2023-07-01", top=3, explain=3)
    assert repr(found) == "Forecast('Caldera — hold talks with — ?, 2023-07-01', answers=3, best='Drovia')"
    assert len(repr(found.answers[0])) < 80
    assert "reasons=3" in repr(found.answers[0])
