"""Questions about facts that last, through the forecaster: what begins, what ends, and when."""

from typing import Any

import pytest

from titer import Facts, Forecaster
from titer.data.dataset import Dataset
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.events.config import EventConfig
from titer.events.model import EventModel
from titer.forecasting.events.render import AGAINST_SHARES
from titer.forecasting.events.wording import percent, rate_words
from titer.models.registry import model_class

pytestmark = pytest.mark.slow  # an event model is trained first


@pytest.fixture(scope="session")
def lasting(quick: EventConfig) -> Forecaster:
    """A forecaster of facts that last for ten years each, one step after the other."""
    rows = [(person, 0, 20 + (person + year // 10) % 5, year) for year in range(60) for person in range(20)]
    facts = Facts.from_rows(rows)
    vocabulary = Vocabulary([*(f"person {i}" for i in range(20)), *(f"club {i}" for i in range(5))], ["plays for"])
    splits = facts[facts.time < 45], facts[(facts.time >= 45) & (facts.time < 52)], facts[facts.time >= 52]
    dataset = Dataset("clubs", vocabulary, TimeAxis(TimeUnit.YEAR, "1960"), *splits)
    model = model_class("recurrency")(vocabulary, dataset.axis)
    made = Forecaster(model, dataset)
    made._events = EventModel(vocabulary, dataset.axis, quick).fit(dataset, model)
    return made


def test_lasting_facts_continue_begin_and_end(lasting: Forecaster):
    found = lasting.events(start="2018", top=200)
    kinds = {event.kind for event in found.events}
    assert kinds == {"continues", "begins"}
    holding = {event.object for event in lasting.events("person 0", start="2018", kind="continues").events}
    assert holding == {"club 0"}
    ends = lasting.events("person 0", start="2018", kind="ends").events
    (continues,) = lasting.events("person 0", start="2018", kind="continues").events
    assert ends[0].kind == "ends"
    assert ends[0].probability == pytest.approx(1 - continues.probability, abs=1e-5)
    assert "held in" in continues.rate
    assert "that it begins in the 30 years" in str(lasting.when("person 0", "plays for", "club 1", start="2018"))


def test_a_fact_that_holds_is_asked_when_it_ends(lasting: Forecaster):
    club = ("person 0", "plays for", "club 0")
    found = lasting.when(*club, start="2018")
    assert found.event.kind == "ends"
    assert found.event.probability == found.curve[-1].by > 0
    assert [step.by for step in found.curve] == sorted(step.by for step in found.curve)
    # The same as the list of ends and as the likelihood of each window.
    for steps in (1, 4, 30):
        (ends,) = lasting.events(club[0], start="2018", kind="ends", within=steps).events
        likely = lasting.likely(*club, steps, start="2018")
        step = found.curve[steps - 1]
        assert (ends.probability, likely.probability) == (
            pytest.approx(step.by, abs=1e-5),
            pytest.approx(step.survival, abs=1e-5),
        )
        held = sum(one.probability for one in found.curve[:steps])
        assert (likely.event.expected, ends.expected) == (pytest.approx(held, abs=1e-4), pytest.approx(held, abs=1e-4))
    for quantile in found.quantiles:
        reached = [step.time for step in found.curve if step.by >= quantile.level]
        assert quantile.time == (reached[0] if reached else None)
    words = str(found)
    assert "club 0: when does it end?" in words
    assert "that it still holds in 2047" in words
    assert "Bars show the probability that it still holds." in words
    assert "still holds</th>" in found._repr_html_()


def test_a_fact_that_goes_on_is_not_unusual(lasting: Forecaster):
    def kinds(**options: Any) -> set[str]:
        return {event.kind for event in lasting.events(start="2018", within=9, sort="lift", top=99, **options).events}

    assert "continues" not in kinds()
    assert kinds(kind="continues") == {"continues"}
    assert kinds(kind="ends") == {"ends"}


def test_the_evidence_for_an_end_is_not_that_for_going_on(lasting: Forecaster):
    club = ("person 0", "plays for", "club 0")
    likely, when = (ask(*club, start="2018", explain=9).event for ask in (lasting.likely, lasting.when))
    (listed,) = lasting.events(club[0], start="2018", kind="ends", explain=9).events
    assert (likely.kind, when.kind, listed.kind) == ("continues", "ends", "ends")
    assert likely.causes
    assert likely.against == ()
    for event in (when, listed):
        assert event.against == likely.causes
        assert not set(event.causes) & set(likely.causes)
        assert event.reasons == ()
    text = str(lasting.when(*club, start="2018", explain=9))
    assert "        against:\n" in text
    assert text.endswith(AGAINST_SHARES)
    assert "club 0 because" not in text
    assert "against:</p>" in lasting.when(*club, start="2018", explain=9)._repr_html_()


def test_evidence_for_and_against_an_end_are_apart(lasting: Forecaster):
    ends = lasting.events(start="2018", kind="ends", explain=9, top=20).events
    assert any(event.causes for event in ends)
    for event in ends:
        assert not set(event.causes) & set(event.against)
        for reasons in (event.causes, event.against):
            assert sum(reason.share for reason in reasons) <= 1 + 1e-6


def test_the_usual_rate_of_an_end_is_that_of_the_relation(lasting: Forecaster):
    # Each fact holds for ten of the 60 years from 1960, so before 2018 one end follows 5 times in 57 years.
    hazard = 5 / 57
    (ends,) = lasting.events("person 0", start="2018", kind="ends", within=3).events
    (continues,) = lasting.events("person 0", start="2018", kind="continues", within=3).events
    assert ends.usual == pytest.approx(1 - (1 - hazard) ** 3, abs=1e-5)
    assert continues.usual == pytest.approx((1 - hazard) ** 3, abs=1e-5)
    for event in (ends, continues):
        assert event.lift == pytest.approx(event.probability / event.usual)
    curve = lasting.when("person 0", "plays for", "club 0", start="2018").curve
    assert [step.usual for step in curve[:3]] == pytest.approx([1 - (1 - hazard) ** k for k in (1, 2, 3)], abs=1e-5)
    assert f"usually {percent(ends.usual)} end, now" in ends.rate
    assert f"usually {percent(continues.usual)} still hold, now" in continues.rate


def test_a_fact_whose_relation_never_ended_is_not_said_to_be_new():
    axis = TimeAxis(TimeUnit.YEAR, "1960")
    assert rate_words(67, 67, 0.0, None, "ends", axis) == "held in 67 of 67 years, usually <0.1% end"
    assert rate_words(0, 67, 0.0, None, "new", axis) == "never before"


def test_a_likelihood_says_whether_a_fact_still_holds(lasting: Forecaster):
    found = lasting.likely("person 0", "plays for", "club 0", 5, start="2018")
    still, ended = percent(found.probability), percent(1 - found.probability)
    assert found.meaning == f"{still} that it still holds in 2022, {ended} that it has ended"
    assert found.meaning in str(found)
    assert found.meaning in found._repr_html_()
    assert f"expected to hold in {found.event.expected:.1f} of 5 steps" in str(found)
    other = lasting.likely("person 0", "plays for", "club 1", 5, start="2018")
    assert other.meaning == f"{percent(other.probability)} that it begins"
