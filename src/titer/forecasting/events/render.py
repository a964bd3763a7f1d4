"""Event forecasts as plain text."""

import re
import textwrap
from typing import Any

from titer.counted import counted
from titer.forecasting.events.results import EventForecast, Likelihood, LikelyEvent, WhenForecast
from titer.forecasting.events.wording import MIN_PROBABILITY, percent
from titer.forecasting.wording.render import evidence_lines

NO_EVENT = "No event: no earlier fact supports one."
EVENT_SHARES = (
    'Percentages after "because" divide how much the intensity of the event falls without each group of facts; those '
    "after the object's name divide its weight as the answer before calibration. A what-if measures what a fact causes."
)
"""Shown wherever the evidence for events is."""
AGAINST_SHARES = (
    'After "against" are the past facts that make the fact go on; their percentages divide how much its intensity '
    "falls without each group."
)
"""Shown as well where evidence against the end of a fact is."""
MIN_WIDTH = 20
"""Text is not wrapped to fewer characters."""
BAR = 30
"""Width of a full bar of the survival curve, in characters."""


def as_text(result: Any, width: int | None = None) -> str:
    """Return a result about events as plain text.

    Args:
        result: The result.
        width: The number of characters in a line; None for lines of any length.
    """
    match result:
        case EventForecast():
            lines = _events(result, width)
        case Likelihood():
            lines = _likely(result)
        case WhenForecast():
            lines = _when(result, width)
        case _:
            raise TypeError(f"not a result about events: {type(result).__name__}")
    return "\n".join(lines if width is None else (part for line in lines for part in _wrapped(line, width)))


_LABEL = re.compile(r" *(\d+\. +)?([<>]?[\d.]+% +)?")
"""The rank and the probability or share before the words of a line."""


def _wrapped(line: str, width: int) -> list[str]:
    """Return the lines of a line of text, the later ones indented to the first word."""
    found = _LABEL.match(line)
    label = found[0] if found else ""
    words = textwrap.wrap(line[len(label) :], max(width - len(label), MIN_WIDTH), break_on_hyphens=False) or [""]
    return [label + words[0], *(" " * len(label) + part for part in words[1:])] if len(line) > width else [line]


def title(forecast: EventForecast) -> str:
    """Return the title of a list of events."""
    parts = (forecast.subject, forecast.relation, forecast.object)
    of = " — ".join(part or "?" for part in parts) if any(parts) else "all events"
    if forecast.entity:
        of = forecast.entity if of == "all events" else f"{forecast.entity}, {of}"
    return f"{of}, {forecast.window}"


def summary(forecast: EventForecast) -> str:
    """Say how many events are expected."""
    return f"about {forecast.expected:,.1f} events expected in all"


def no_event(forecast: EventForecast) -> str:
    """Return why no event is listed."""
    if forecast.kind in ("continues", "ends"):
        return "No event: no lasting fact holds just before the window."
    if forecast.kind == "begins":
        return "No event: no relation is lasting."
    if forecast.sort == "lift":
        rest = "" if forecast.kind else "except for lasting facts that continue, "
        return f"No event: {rest}nothing that occurred before has a probability of {MIN_PROBABILITY:.0%} or more."
    return NO_EVENT


def name(event: LikelyEvent) -> str:
    """Return the three names of an event."""
    return f"{event.subject} — {event.relation} — {event.object}"


def _events(forecast: EventForecast, available: int | None) -> list[str]:
    lines = [title(forecast), f"({forecast.horizon}; {summary(forecast)})", ""]
    if not forecast.events:
        return [*lines, no_event(forecast)]
    width = max(len(name(event)) for event in forecast.events)
    heads = [f"{event.rank:>4}. {percent(event.probability):>6}  " for event in forecast.events]
    rates = [description(event, forecast.steps) for event in forecast.events]
    longest = max(len(f"{head}{rate}") for head, rate in zip(heads, rates, strict=True)) + width + 2
    for event, head, rate in zip(forecast.events, heads, rates, strict=True):
        if available is None or longest <= available:
            lines.append(f"{head}{name(event).ljust(width)}  {rate}")
        else:
            lines += [head + name(event), " " * len(head) + rate]
        lines += _evidence(event)
    return [*lines, *_note(*forecast.events)]


def description(event: LikelyEvent, steps: int) -> str:
    """Return the kind of an event that is not repeated, its usual rate, and its expected count in a longer window."""
    kind = "" if event.kind == "repeats" else f"{event.kind}; "
    return f"{kind}{event.rate}" + (f"; {expected(event, steps)}" if steps > 1 else "")


def _note(*events: LikelyEvent) -> list[str]:
    return ["", *notes] if (notes := evidence_notes(*events)) else []


def evidence_notes(*events: LikelyEvent) -> list[str]:
    """Return what the percentages of the evidence for events mean; nothing without evidence."""
    shown = {label for event in events for label in labelled_evidence(event)}
    return [*([EVENT_SHARES] if shown else []), *([AGAINST_SHARES] if "against" in shown else [])]


def _evidence(event: LikelyEvent) -> list[str]:
    lines = list[str]()
    for label, shown in labelled_evidence(event).items():
        lines.append(f"        {label}:")
        lines += [f"          {share:>4.0%}  {words}" for share, words in shown]
    return lines


def labelled_evidence(event: LikelyEvent) -> dict[str, list[tuple[float, str]]]:
    """Return the evidence worth showing of each sort, with shares that sum to one."""
    kinds = {"because": event.causes, "against": event.against, f"{event.object} because": event.reasons}
    return {label: shown for label, reasons in kinds.items() if (shown := evidence_lines(reasons))}


def expected(event: LikelyEvent, steps: int) -> str:
    """Say in how many of the steps of a window the event happens, or the fact holds."""
    if event.kind in ("continues", "ends"):
        return f"expected to hold in {event.expected:.1f} of {counted(steps, 'step')}"
    return f"expected {event.expected:.2f} times"


def _likely(result: Likelihood) -> list[str]:
    event = result.event
    # For a lasting fact that holds, the rate has the usual probability.
    usual = f"; at the usual rate {percent(event.usual)}" if event.times and event.kind != "continues" else ""
    return [
        f"{name(event)}, {result.window}",
        f"({result.horizon})",
        "",
        f"{result.meaning}; {event.rate}",
        f"{expected(event, result.steps)}{usual}",
        *([f"last {event.last.date}, {event.last.ago} before"] if event.last else []),
        *_evidence(event),
        *_note(event),
    ]


def when_title(result: WhenForecast) -> str:
    """Return the question that a forecast of ``when`` answers."""
    return f"{name(result.event)}: {'when does it end?' if result.event.kind == 'ends' else 'when next?'}"


def _when(result: WhenForecast, available: int | None) -> list[str]:
    event = result.event
    ends, last = event.kind == "ends", result.curve[-1].date
    lines = [when_title(result), f"({result.horizon})", ""]
    for quantile in result.quantiles:
        lines.append(f"{quantile.level:>4.0%} " + (f"by {quantile.date}" if quantile.date else f"after {last}"))
    lines += ["", f"{event.rate}; {result.meaning}"]
    lines += [f"last {event.last.date}, {event.last.ago} before"] if event.last else []
    lines += ["", f"Bars show the probability that it {'still holds' if ends else 'has not happened yet'}.", ""]
    width = max(len(step.date) for step in result.curve)
    for step in result.curve:
        first, by = f"{percent(step.first):>6} {'ends' if ends else 'first'}", f"{percent(step.by):>6} by then"
        head = f"{step.date.rjust(width)}  {first}  {by}"
        longest = BAR if available is None else max(min(BAR, available - len(head) - 2), 0)
        lines.append(f"{head}  {'█' * round(longest * step.survival)}".rstrip())
    return [*lines, *_evidence(event), *_note(event)]
