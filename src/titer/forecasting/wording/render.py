"""Forecasts and what-ifs as plain text."""

from titer.forecasting.forecast import NO_ANSWER, Forecast, Reason
from titer.forecasting.what_if import Move, WhatIf

WORTH_SHOWING = 0.005
"""A smaller share would be displayed as 0%."""
SHARES = "Percentages of evidence divide the answer's weight before calibration. A what-if measures what a fact causes."
"""Shown wherever the shares of evidence are."""


def as_text(forecast: Forecast) -> str:
    """Return the question, the ranked answers, and their evidence."""
    lines = heading(forecast)
    if not forecast.answers:
        lines.append(f"No answer: {NO_ANSWER}.")
    width = max((len(answer.entity) for answer in forecast.answers), default=0)
    for answer in forecast.answers:
        lines.append(f"{answer.rank:>3}. {answer.entity.ljust(width)}  {answer.probability:>6.1%}")
        lines += _indented(answer.reasons)
    lines += ["", SHARES] if any(evidence_lines(answer.reasons) for answer in forecast.answers) else []
    return "\n".join(lines)


def evidence_lines(reasons: tuple[Reason, ...]) -> list[tuple[float, str]]:
    """Return the shares and words of the evidence worth showing, and of all other evidence together."""
    lines = [(reason.share, reason.text) for reason in reasons if reason.share >= WORTH_SHOWING]
    rest = 1 - sum(share for share, _ in lines)
    return [*lines, (rest, "weaker evidence")] if lines and rest >= WORTH_SHOWING else lines


def _indented(reasons: tuple[Reason, ...]) -> list[str]:
    return [f"       {share:>4.0%}  {words}" for share, words in evidence_lines(reasons)]


def heading(forecast: Forecast) -> list[str]:
    """Return the question, its horizon, what its probabilities mean, and a caution if there is one."""
    notes = [f"({forecast.caution})"] if forecast.caution else []
    notes += [forecast.meaning] if forecast.meaning else []
    return [forecast.question, f"({forecast.horizon})", *notes, ""]


def what_if_as_text(result: WhatIf) -> str:
    """Return the question, the change of the history, and how the answers moved."""
    lines = heading(result.after)[:-1]
    lines += [f"without: {fact}" for fact in result.without]
    lines += [f"with:    {fact}" for fact in result.with_]
    lines += [f"new entities: {', '.join(result.new_entities)}"] if result.new_entities else []
    lines.append("")
    if not result.moves:
        lines.append(f"No answer: {NO_ANSWER}.")
        return "\n".join(lines)
    width = max(len(move.entity) for move in result.moves)
    lines.append(f"{'rank':>4}  {'was':>4}  {''.ljust(width)}  {'probability':>11}  {'was':>6}")
    reasons = {answer.entity: answer.reasons for answer in result.after.answers}
    for move in result.moves:
        lines += [_row(move, width), *_indented(reasons.get(move.entity, ()))]
    if not any(move.moved for move in result.moves):
        lines += ["", "Nothing moved."]
    lines += ["", SHARES] if any(map(evidence_lines, reasons.values())) else []
    return "\n".join(lines)


def _row(move: Move, width: int) -> str:
    now, was = ("–" if rank is None else str(rank) for rank in (move.rank_after, move.rank_before))
    return (
        f"{now:>4}  {was:>4}  {move.entity.ljust(width)}  {move.probability_after:>11.1%}  "
        f"{move.probability_before:>6.1%}"
    )
