"""The result of an evaluation in plain words."""

from typing import Any

BASELINE = "counting past facts"


def in_plain_words(metrics: dict[str, Any], baseline: dict[str, Any] | None = None) -> str:
    """Say how often the true answer is ranked first and among the first ten, of a hundred questions.

    Args:
        metrics: MRR and Hits@k of a model, by name.
        baseline: The same of the baseline for the same questions, if it is known.

    Returns:
        One or two sentences.
    """
    first, tenth = _of_hundred(metrics)
    text = f"The true answer is ranked first in {first} of 100 questions, and among the first ten in {tenth}"
    if baseline is None:
        return f"{text}."
    text += "; {} alone reaches {} and {}.".format(BASELINE, *_of_hundred(baseline))
    gained = metrics["mrr"] - baseline["mrr"]
    if gained <= 0:
        text += f" The model is no better than {BASELINE}."
    return text


def novelty_in_plain_words(metrics: dict[str, Any], baseline: dict[str, Any] | None = None) -> str:
    """Say how often the true answer is ranked first where the fact was not true at the step before."""
    text = f"Of facts that were not true at the step before, it is ranked first in {_of_hundred(metrics)[0]} of 100"
    if baseline is not None:
        text += f"; {BASELINE} alone reaches {_of_hundred(baseline)[0]}"
    return f"{text}."


def _of_hundred(metrics: dict[str, Any]) -> list[str]:
    shown = []
    for name in ("hits_at_1", "hits_at_10"):
        value = 100 * metrics[name]
        shown.append(f"{value:.1f}" if 0 < value < 10 else f"{value:.0f}")
    return shown
