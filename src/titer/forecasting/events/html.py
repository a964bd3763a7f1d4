"""Event forecasts as HTML for notebooks."""

from typing import Any
from xml.etree.ElementTree import Element

from titer.drawing.elements import Child, el, table
from titer.drawing.notebook import bar, evidence_list, notebook_html
from titer.forecasting.events.render import (
    evidence_notes,
    expected,
    labelled_evidence,
    name,
    no_event,
    summary,
    title,
    when_title,
)
from titer.forecasting.events.results import EventForecast, Likelihood, LikelyEvent, WhenForecast
from titer.forecasting.events.wording import percent


def as_html(result: Any) -> str:
    """Return a result about events as HTML."""
    match result:
        case EventForecast():
            parts = [el("h4", title(result)), el("p", f"{result.horizon}; {summary(result)}."), *_events(result)]
        case Likelihood():
            parts = [el("h4", f"{name(result.event)}, {result.window}"), el("p", f"{result.horizon}."), *_one(result)]
        case WhenForecast():
            parts = [el("h4", when_title(result)), el("p", f"{result.horizon}."), *_when(result)]
        case _:
            raise TypeError(f"not a result about events: {type(result).__name__}")
    return notebook_html(*parts)


def _events(forecast: EventForecast) -> list[Element]:
    if not forecast.events:
        return [el("p", no_event(forecast))]
    explained = any(map(labelled_evidence, forecast.events))
    rows: list[list[Child]] = [
        [
            str(event.rank),
            percent(event.probability),
            bar(event.probability),
            name(event),
            event.kind,
            f"{event.expected:.2f}",
            event.rate,
            *([el("div", *_evidence(event))] if explained else []),
        ]
        for event in forecast.events
    ]
    header = ["", "probability", "", "event", "kind", "expected", "usual rate", *(["evidence"] if explained else [])]
    return [table(header, rows, numbers_from=len(header), numbers_to=2), *_note(*forecast.events)]


def _one(result: Likelihood) -> list[Element]:
    event = result.event
    return [
        el("p", f"{result.meaning}; {event.rate}; {expected(event, result.steps)}."),
        *_evidence_list(event),
    ]


def _when(result: WhenForecast) -> list[Element]:
    last, ends = result.curve[-1].date, result.event.kind == "ends"
    quantiles: list[list[Child]] = [[f"{q.level:.0%}", q.date or f"after {last}"] for q in result.quantiles]
    steps: list[list[Child]] = [
        [step.date, percent(step.first), percent(step.by), bar(step.survival)] for step in result.curve
    ]
    return [
        el("p", f"{result.event.rate}; {result.meaning}."),
        table(["probability", "ends by" if ends else "happens by"], quantiles, numbers_from=2),
        table(
            ["step", *(("ends", "by then", "still holds") if ends else ("first", "by then", "not yet"))],
            steps,
            numbers_from=4,
        ),
        *_evidence_list(result.event),
    ]


def _evidence_list(event: LikelyEvent) -> list[Element]:
    return [*_evidence(event), *_note(event)]


def _evidence(event: LikelyEvent) -> list[Element]:
    return [
        part
        for label, lines in labelled_evidence(event).items()
        for part in (el("p", f"{label}:"), evidence_list(lines))
    ]


def _note(*events: LikelyEvent) -> list[Element]:
    return [el("p", note) for note in evidence_notes(*events)]
