"""Forecasts as plain text."""

from titer.forecasting.forecast import Forecast

WORTH_SHOWING = 0.005
"""A smaller share would be shown as 0%."""


def as_text(forecast: Forecast) -> str:
    """The question, the ranked answers, and the evidence that the forecast brought along."""
    lines = [forecast.question, f"({forecast.horizon})", ""]
    if not forecast.answers:
        lines.append("No answer: nothing that was known before this time speaks for anyone.")
    width = max((len(answer.entity) for answer in forecast.answers), default=0)
    for answer in forecast.answers:
        lines.append(f"{answer.rank:>3}. {answer.entity.ljust(width)}  {answer.probability:>6.1%}")
        shown = [reason for reason in answer.reasons if reason.share >= WORTH_SHOWING]
        lines += [f"       {reason.share:>4.0%}  {reason}" for reason in shown]
        rest = 1 - sum(reason.share for reason in shown)
        if shown and rest >= WORTH_SHOWING:
            lines.append(f"       {rest:>4.0%}  weaker evidence")
    return "\n".join(lines)
