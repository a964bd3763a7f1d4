"""Event forecasts in a report: the most likely events, how good past forecasts were, and surprises."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from titer.drawing.charts import reliability
from titer.drawing.elements import el, table
from titer.evaluation.calibration import CalibrationBin
from titer.events.metrics import NUM_BINS
from titer.forecasting.events.wording import percent
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.past_windows import PastWindows, useful_windows
from titer.forecasting.track_record import CheckedEvent, CheckedForecast

MAX_EVENTS, MAX_SURPRISES = 20, 10


def event_sections(forecaster: Forecaster, *, past: bool) -> list[Element]:
    """Return the sections about events. The event model is trained if the run has none.

    Args:
        forecaster: The model and the known facts.
        past: Whether to compare past forecasts with what happened, in the time after the validation split.
    """
    sections = _upcoming(forecaster)
    if past:
        windows = PastWindows(forecaster)
        checked = [windows.check(start) for start in windows.starts]
        sections += _record(checked, forecaster.axis.duration(windows.steps))
    return sections


def _upcoming(forecaster: Forecaster) -> list[Element]:
    found = forecaster.events(within=useful_windows(forecaster.axis)[1], top=MAX_EVENTS)
    rows = [[percent(one.probability), _words(one), one.rate] for one in found.events]
    note = f"{found.window[0].upper()}{found.window[1:]}; {found.horizon}. About {found.expected:,.0f} different events"
    return [
        el("h2", "Most likely events"),
        el("p", f"{note} are expected.", class_="note"),
        table(["probability", "event", "usual rate"], rows, numbers_from=9),
    ]


def _record(checked: Sequence[CheckedForecast], length: str) -> list[Element]:
    heading = el("h2", "Past forecasts of events")
    if not checked:
        return [heading, el("p", "No fact is later than the training data, so no forecast can be compared with it.")]
    hits, listed = sum(one.hits for one in checked), sum(len(one.top) for one in checked)
    expected = sum(one.expected_hits for one in checked)
    words = (
        f"Each period of {length} was forecast with the facts before it only. {hits / listed:.0%} of the most likely "
        f"events happened; {expected / listed:.0%} were expected to."
    )
    rows = [
        [
            one.window,
            f"{one.hits} of {len(one.top)}",
            f"{one.expected_hits:.1f}",
            f"{one.events:,}",
            f"{one.expected:,.0f}",
        ]
        for one in checked
    ]
    labels = ("probability of an event", "share that happened")
    return [
        heading,
        el("p", words),
        table(["period", "most likely events that happened", "expected", "all events", "expected"], rows),
        reliability(pooled_bins(checked), "Events that happened by probability", labels, ("forecasts", "happened")),
        el("h2", "Surprises"),
        el("h3", "Likely, but did not happen"),
        _surprises(missed_events(checked)),
        el("h3", "Unlikely, but happened"),
        _surprises(surprising_events(checked)),
    ]


def pooled_bins(checked: Sequence[CheckedForecast]) -> list[CalibrationBin]:
    """Return the reliability of all windows together: bins of equal width by probability, without empty ones."""
    bins = [one for window in checked for one in window.reliability]
    places = [min(int(one.probability * NUM_BINS), NUM_BINS - 1) for one in bins]
    pooled = list[CalibrationBin]()
    for place in sorted(set(places)):
        same = [one for one, where in zip(bins, places, strict=True) if where == place]
        number = sum(one.forecasts for one in same)
        mean, share = (
            sum(one.forecasts * getattr(one, name) for one in same) / number for name in ("probability", "frequency")
        )
        pooled.append(CalibrationBin(number, mean, share))
    return pooled


def missed_events(checked: Sequence[CheckedForecast]) -> list[tuple[CheckedEvent, str]]:
    """Return the most likely events that did not happen, with their windows."""
    found = [(one, window.window) for window in checked for one in window.top if not one.happened]
    return sorted(found, key=lambda item: -item[0].probability)[:MAX_SURPRISES]


def surprising_events(checked: Sequence[CheckedForecast]) -> list[tuple[CheckedEvent, str]]:
    """Return unlikely events that happened, with their windows; the same number of each window."""
    each = -(-MAX_SURPRISES // len(checked))
    return [(one, window.window) for window in checked for one in window.surprises[:each]][:MAX_SURPRISES]


def _surprises(events: list[tuple[CheckedEvent, str]]) -> Element:
    if not events:
        return el("p", "None.")
    rows = [[percent(one.probability), _words(one), window] for one, window in events]
    return table(["probability", "event", "period"], rows, numbers_from=9)


def _words(event: object) -> str:
    return " — ".join(getattr(event, part) for part in ("subject", "relation", "object"))
