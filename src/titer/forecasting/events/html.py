"""Event forecasts as HTML for notebooks."""

from importlib.resources import files
from typing import Any
from xml.etree.ElementTree import Element, tostring

from titer.drawing.elements import Child, el, table
from titer.forecasting.events.render import name, no_event, summary, title
from titer.forecasting.events.results import EventForecast, Likelihood, LikelyEvent, WhenForecast
from titer.forecasting.events.wording import TITLES, percent
from titer.forecasting.wording.render import evidence_lines


def as_html(result: Any) -> str:
    """Return a result about events as HTML."""
    match result:
        case EventForecast():
            parts = [el("h4", title(result)), el("p", f"{result.horizon}; {summary(result)}."), _events(result)]
        case Likelihood():
            parts = [el("h4", f"{name(result.event)}, {result.window}"), el("p", f"{result.horizon}."), *_one(result)]
        case WhenForecast():
            parts = [el("h4", f"{name(result.event)}: when next?"), el("p", f"{result.horizon}."), *_when(result)]
        case _:
            raise TypeError(f"not a result about events: {type(result).__name__}")
    style = files("titer.drawing").joinpath("notebook.css").read_text(encoding="utf-8")
    page = el("div", el("style", style), *parts, class_="titer-result")
    return tostring(page, encoding="unicode", method="html")


def _events(forecast: EventForecast) -> Element:
    if not forecast.events:
        return el("p", no_event(forecast))
    explained = any(event.causes or event.reasons for event in forecast.events)
    rows: list[list[Child]] = [
        [
            str(event.rank),
            percent(event.probability),
            _bar(event.probability),
            name(event),
            event.kind,
            event.rate,
            *([_evidence(event)] if explained else []),
        ]
        for event in forecast.events
    ]
    header = ["", "probability", "", "event", "kind", "usual rate", *(["evidence"] if explained else [])]
    return _numbered(table(header, rows, numbers_from=len(header)))


def _one(result: Likelihood) -> list[Element]:
    event = result.event
    return [
        el("p", f"{percent(event.probability)} that it {TITLES[event.kind]}; {event.rate}."),
        *_evidence_list(event),
    ]


def _when(result: WhenForecast) -> list[Element]:
    last = result.curve[-1].date
    quantiles: list[list[Child]] = [[f"{q.level:.0%}", q.date or f"after {last}"] for q in result.quantiles]
    steps: list[list[Child]] = [
        [step.date, percent(step.first), percent(step.by), _bar(step.survival)] for step in result.curve
    ]
    return [
        table(["probability", "happens by"], quantiles, numbers_from=2),
        table(["step", "first", "by then", "not yet"], steps, numbers_from=4),
        *_evidence_list(result.event),
    ]


def _evidence_list(event: LikelyEvent) -> list[Element]:
    return [_evidence(event)] if event.causes or event.reasons else []


def _evidence(event: LikelyEvent) -> Element:
    lines = [*evidence_lines(event.causes), *evidence_lines(event.reasons)]
    return el("ul", *(el("li", f"{share:.0%}: {words}") for share, words in lines))


def _bar(share: float) -> Element:
    return el("div", el("div", style=f"width: {100 * share:.1f}%"), class_="bar")


def _numbered(made: Element) -> Element:
    for row in made.iter("tr"):
        for cell in row[:2]:
            cell.set("class", "number")
    return made
