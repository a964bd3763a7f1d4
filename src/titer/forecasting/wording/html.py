"""Forecasts and what-ifs as HTML for notebooks."""

from xml.etree.ElementTree import Element

from titer.drawing.elements import Child, el, table
from titer.drawing.notebook import bar, evidence_list, notebook_html
from titer.forecasting.forecast import NO_ANSWER, Forecast, Reason
from titer.forecasting.what_if import Move, WhatIf
from titer.forecasting.wording.render import SHARES, evidence_lines


def as_html(forecast: Forecast) -> str:
    """Return the question, a table of the answers, and their evidence."""
    explained = any(answer.reasons for answer in forecast.answers)
    rows: list[list[Child]] = [
        [
            str(answer.rank),
            f"{answer.probability:.1%}",
            bar(answer.probability),
            answer.entity,
            *([_evidence(answer.reasons)] if explained else []),
        ]
        for answer in forecast.answers
    ]
    header = ["rank", "probability", "", "answer", *(["evidence"] if explained else [])]
    return _page(forecast, *_answers(header, rows, numbers=2), *_about_shares(explained))


def what_if_as_html(result: WhatIf) -> str:
    """Return the question, the change of the history, and a table of how the answers moved."""
    changes = [
        *(el("li", f"without: {fact}") for fact in result.without),
        *(el("li", f"with: {fact}") for fact in result.with_),
        *([el("li", f"new entities: {', '.join(result.new_entities)}")] if result.new_entities else []),
    ]
    reasons = {answer.entity: answer.reasons for answer in result.after.answers}
    explained = any(reasons.values())
    rows: list[list[Child]] = [
        [*_cells(move), move.entity, *([_evidence(reasons.get(move.entity, ()))] if explained else [])]
        for move in result.moves
    ]
    header = ["rank", "before", "probability", "before", "answer", *(["evidence"] if explained else [])]
    listed = [el("ul", *changes)] if changes else []
    return _page(result.after, *listed, *_answers(header, rows, numbers=4), *_about_shares(explained))


def _page(forecast: Forecast, *parts: Element) -> str:
    notes = [note for note in (forecast.horizon, forecast.caution) if note]
    heading = [el("h4", forecast.question), *(el("p", f"{note[0].upper()}{note[1:]}.") for note in notes)]
    heading += [el("p", forecast.meaning)] if forecast.meaning else []
    return notebook_html(*heading, *parts)


def _about_shares(explained: bool) -> list[Element]:
    return [el("p", SHARES)] if explained else []


def _answers(header: list[str], rows: list[list[Child]], numbers: int) -> list[Element]:
    if not rows:
        return [el("p", f"No answer: {NO_ANSWER}.")]
    return [table(header, rows, numbers_from=len(header), numbers_to=numbers)]


def _cells(move: Move) -> list[str]:
    ranks = ("–" if rank is None else str(rank) for rank in (move.rank_after, move.rank_before))
    return [*ranks, *(f"{value:.1%}" for value in (move.probability_after, move.probability_before))]


def _evidence(reasons: tuple[Reason, ...]) -> Child:
    lines = evidence_lines(reasons)
    return evidence_list(lines) if lines else ""
