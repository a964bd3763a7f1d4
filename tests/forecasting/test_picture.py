"""The evidence for an answer, drawn on a timeline."""

from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

import pytest

from titer.drawing.text import width_of
from titer.drawing.timeline import LEFT, NAME_SPACE
from titer.errors import TiterError
from titer.forecasting.forecast import Answer, Forecast, PastFact, Reason
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.picture import Picture, draw_evidence


def fact(subject: str, relation: str, object: str, age: int, *, reversed: bool = False) -> PastFact:
    words = f"{subject} {relation} {object}, {age} before"
    return PastFact(subject, relation, object, str(100 - age), f"day {100 - age}", f"{age} days", age, words, reversed)


def forecast(*reasons: Reason, subject: str | None = "Ada", object: str | None = None) -> Forecast:
    return Forecast(subject, "visit", object, "100", "day 100", 1, "", (Answer(1, "Cleo", 1.0, 0.5, reasons),))


def drawn(found: Forecast, *, interactive: bool = True) -> Element:
    picture = draw_evidence(found, found.answers[0], interactive=interactive)
    assert picture is not None
    return picture


def facts(picture: Element) -> list[Element]:
    return picture.findall("g[@class='fact']")


TWO_HOPS = Reason((fact("Ada", "visit", "Ben", 5), fact("Cleo", "praise", "Ben", 9, reversed=True)), 0.7)


def test_every_entity_has_a_lane_and_every_fact_an_arc():
    picture = drawn(forecast(Reason((), 0.2, "base rate"), TWO_HOPS))
    assert len(picture.findall("line[@class='lane']")) == 3
    names = [text.findtext("title") for text in picture.findall("text") if "name" in (text.get("class") or "")]
    assert names == ["Ada", "Ben", "Cleo"]  # from the question's entity to the answer
    assert len(picture.findall("line[@class='link']")) == 1


def test_facts_have_their_indices_and_are_buttons_with_their_sentence():
    found = forecast(Reason((), 0.2, "base rate"), TWO_HOPS)
    arcs = facts(drawn(found))
    assert [(arc.get("data-reason"), arc.get("data-fact")) for arc in arcs] == [("1", "0"), ("1", "1")]
    for arc, meant in zip(arcs, TWO_HOPS.facts, strict=True):
        assert (arc.get("role"), arc.get("tabindex")) == ("button", "0")
        assert meant.sentence in (arc.get("aria-label") or "")
        assert arc.findtext("title") == arc.get("aria-label")
    assert not any(arc.get("role") for arc in facts(drawn(found, interactive=False)))


def test_an_arrow_points_to_the_object_of_the_fact_whichever_way_the_path_leads():
    picture = drawn(forecast(TWO_HOPS))
    lanes = [float(line.get("y1") or 0) for line in picture.findall("line[@class='lane']")]

    def head(arc: Element) -> float:
        (place,) = [part.get("transform", "") for part in arc if part.get("transform")]
        return float(place.split("(")[1].split(")")[0].split()[1])

    # Ada visited Ben, and Cleo praised Ben: both arrows end at Ben.
    assert [head(arc) for arc in facts(picture)] == [lanes[1], lanes[1]]


def test_recent_facts_are_right_of_older_ones():
    reasons = [Reason((fact("Ada", f"relation {age}", "Cleo", age),), 0.1) for age in (1, 7, 40, 90)]
    circles = [arc.find("circle") for arc in facts(drawn(forecast(*reasons)))]
    places = [float(circle.get("cx") or 0) for circle in circles if circle is not None]
    assert places == sorted(places, reverse=True)
    assert len(set(places)) == 4


def test_facts_of_one_day_between_the_same_entities_do_not_cover_each_other():
    reasons = [Reason((fact("Ada", f"relation {i}", "Cleo", 30),), 0.1) for i in range(6)]
    circles = [arc.find("circle") for arc in facts(drawn(forecast(*reasons)))]
    places = [float(circle.get("cx") or 0) for circle in circles if circle is not None]
    assert len(set(places[:2])) == 2
    assert max(places) - min(places) > 9


def boxes(picture: Element) -> list[tuple[float, float, float]]:
    labels = [text for arc in facts(picture) for text in arc.findall("text[@class='relation']")]
    return [(float(t.get("x") or 0), float(t.get("y") or 0), 5.9 * len(t.text or "")) for t in labels]


def test_labels_cover_neither_names_nor_each_other():
    old = [Reason((fact("Ada", f"visit {d}", "Ben", d), fact("Ben", f"meet {d}", "Cleo", d)), 0.1) for d in range(1, 9)]
    labels = boxes(drawn(forecast(*old)))
    assert len(labels) >= 4
    assert all(x > LEFT - 12 for x, _, _ in labels)
    for i, (x, y, width) in enumerate(labels):
        for other_x, other_y, other_width in labels[:i]:
            assert abs(y - other_y) >= 16 or x + width <= other_x or other_x + other_width <= x


def test_dates_do_not_cover_each_other():
    reasons = [Reason((fact("Ada", "visit", "Cleo", age),), 0.1) for age in (88, 89, 90)]
    dates = [text.text for text in drawn(forecast(*reasons)).findall("text[@class='date']")]
    assert dates == ["day 10"]


@pytest.mark.parametrize(
    "name", ["Ministry of Foreign Affairs (United Arab Emirates)", "MNDAA: MYANMAR NATIONAL DEMOCRATIC ALLIANCE ARMY"]
)
def test_long_names_are_cut_to_the_space_they_have_and_shown_whole_as_a_tooltip(name: str):
    picture = drawn(forecast(Reason((fact("Ada", "visit", name, 3), fact(name, "visit", "Cleo", 4)), 0.5)))
    (text,) = [text for text in picture.findall("text") if text.findtext("title") == name]
    shown = "".join(text.itertext()).removeprefix(name)
    assert shown.endswith("…")
    assert name.startswith(shown[:-1])
    assert NAME_SPACE - 15 < width_of(shown, 12) <= NAME_SPACE < LEFT - 26


def test_the_picture_says_that_time_is_logarithmic():
    assert drawn(forecast(TWO_HOPS)).findtext("text[@class='scale']") == "logarithmic time scale"


def test_names_are_never_read_as_markup():
    evil = "<script>alert(1)</script>"
    assert "<script" not in Picture.of(forecast(Reason((fact("Ada", evil, "Cleo", 3),), 0.5))).svg


def test_a_fact_from_an_entity_to_itself_can_be_drawn():
    assert (
        len(facts(drawn(forecast(Reason((fact("Ada", "visit", "Ada", 3), fact("Ada", "visit", "Cleo", 3)), 0.5))))) == 2
    )


def test_evidence_without_facts_is_not_drawn():
    found = forecast(Reason((), 1.0, "base rate"))
    with pytest.raises(TiterError, match="none of its evidence is a path"):
        found.plot()
    with pytest.raises(TiterError, match="explain=5"):
        forecast().plot()
    with pytest.raises(TiterError, match="no answer of rank 7"):
        found.plot(7)


def test_a_picture_is_a_whole_file_with_its_style(forecaster: Forecaster, tmp_path: Path):
    found = forecaster.ask(None, "brief", "Army of Aldoria", at="2023-07-01", explain=3)
    picture = found.plot()
    picture.save(tmp_path / "evidence.svg")
    text = (tmp_path / "evidence.svg").read_text(encoding="utf-8")
    assert text == picture.svg == picture._repr_html_()
    assert repr(picture) == f"<Picture: {len(text):,} characters of SVG>"
    root = fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme: dark" in (root.findtext("{http://www.w3.org/2000/svg}style") or "")
    assert "President of Aldoria" in text


def test_the_direction_of_facts_matches_the_path(any_forecaster: Forecaster):
    for subject, object in (("Caldera", None), (None, "Caldera")):
        found = any_forecaster.ask(subject, "hold talks with", object, at="2023-07-01", explain=20)
        for answer in found.answers:
            for reason in answer.reasons:
                here = "Caldera"
                for one in reason.facts:
                    assert one.start == here
                    assert {one.start, one.end} == {one.subject, one.object}
                    here = one.end
                assert not reason.facts or here == answer.entity


def test_an_embedded_picture_has_buttons_and_no_style(forecaster: Forecaster):
    found = forecaster.ask("Caldera", "hold talks with", at="2023-07-01", explain=3, top=2)
    svg = Picture.of(found, 2, embedded=True).svg
    assert 'role="button"' in svg
    assert "<style" not in svg
