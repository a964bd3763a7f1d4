"""Forecasts as plain text."""

from titer.forecasting.forecast import NO_ANSWER, Forecast, Reason
from titer.forecasting.what_if import Move, WhatIf

WORTH_SHOWING = 0.005
"""A smaller share would be shown as 0%."""


def as_text(forecast: Forecast) -> str:
    """The question, the ranked answers, and the evidence that the forecast brought along."""
    lines = heading(forecast)
    if not forecast.answers:
        lines.append(f"No answer: {NO_ANSWER}.")
    width = max((len(answer.entity) for answer in forecast.answers), default=0)
    for answer in forecast.answers:
        lines.append(f"{answer.rank:>3}. {answer.entity.ljust(width)}  {answer.probability:>6.1%}")
        lines += _evidence(answer.reasons)
    return "\n".join(lines)


def _evidence(reasons: tuple[Reason, ...]) -> list[str]:
    shown = [reason for reason in reasons if reason.share >= WORTH_SHOWING]
    lines = [f"       {reason.share:>4.0%}  {reason}" for reason in shown]
    rest = 1 - sum(reason.share for reason in shown)
    return [*lines, f"       {rest:>4.0%}  weaker evidence"] if shown and rest >= WORTH_SHOWING else lines


def heading(forecast: Forecast) -> list[str]:
    """The question, and what is to be known before one reads its answers."""
    cautions = [f"({forecast.caution})"] if forecast.caution else []
    return [forecast.question, f"({forecast.horizon})", *cautions, ""]


def what_if_as_text(found: WhatIf) -> str:
    """The question, what was changed, and how the answers moved."""
    lines = heading(found.after)[:-1]
    lines += [f"without: {fact}" for fact in found.without]
    lines += [f"with:    {fact}" for fact in found.with_]
    lines += [f"new here: {', '.join(found.new_entities)}"] if found.new_entities else []
    lines.append("")
    if not found.moves:
        lines.append(f"No answer: {NO_ANSWER}.")
        return "\n".join(lines)
    width = max(len(move.entity) for move in found.moves)
    lines.append(f"{'rank':>4}  {'was':>4}  {''.ljust(width)}  {'probability':>11}  {'was':>6}")
    reasons = {answer.entity: answer.reasons for answer in found.after.answers}
    for move in found.moves:
        lines += [_row(move, width), *_evidence(reasons.get(move.entity, ()))]
    if not any(move.moved for move in found.moves):
        lines += ["", "Nothing moved."]
    return "\n".join(lines)


def _row(move: Move, width: int) -> str:
    now, was = ("–" if rank is None else str(rank) for rank in (move.rank_after, move.rank_before))
    return (
        f"{now:>4}  {was:>4}  {move.entity.ljust(width)}  {move.probability_after:>11.1%}  "
        f"{move.probability_before:>6.1%}"
    )
