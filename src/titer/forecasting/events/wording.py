"""Rates and kinds of events in words."""

from titer.data.time_axis import TimeAxis, TimeUnit

_PERIODS = {
    TimeUnit.HOUR: (("hour", 1.0), ("day", 24.0), ("week", 168.0), ("month", 730.5), ("year", 8766.0)),
    TimeUnit.DAY: (("day", 1.0), ("week", 7.0), ("month", 30.4375), ("year", 365.25)),
    TimeUnit.WEEK: (("week", 1.0), ("month", 4.348), ("year", 52.18)),
    TimeUnit.MONTH: (("month", 1.0), ("year", 12.0)),
    TimeUnit.YEAR: (("year", 1.0), ("decade", 10.0), ("century", 100.0)),
    TimeUnit.INTEGER: (("step", 1.0), ("10 steps", 10.0), ("100 steps", 100.0)),
}
MIN_PROBABILITY = 0.02
"""Events that are less likely than this are not sorted by lift: their lift is mostly chance."""
SAME = 0.05
"""A lift this close to 1 is "as likely as usual"."""


def percent(probability: float) -> str:
    """Return a probability with one decimal; what is not certain never looks so."""
    return "<0.1%" if probability < 0.0005 else ">99.9%" if probability >= 0.9995 else f"{probability:.1%}"


def rate_words(times: int, elapsed: int, usual: float, lift: float | None, kind: str, axis: TimeAxis) -> str:
    """Return the usual rate of a fact, and how the forecast differs from it.

    Args:
        times: How often the fact occurred.
        elapsed: In how many time steps.
        usual: The usual probability in the window.
        lift: Probability divided by the usual one; None if that is 0.
        kind: The kind of the event.
        axis: The calendar of the time steps.
    """
    if times == 0:
        return "never before"
    if kind in ("continues", "ends", "begins"):
        held = f"held in {times:,} of {axis.duration(elapsed)}"
        verb = {"continues": "still hold", "ends": "end"}.get(kind)
        return held if verb is None else _compared(f"{held}, usually {percent(usual)} {verb}", lift)
    rate = times / max(elapsed, 1)
    name, length = next(
        ((name, length) for name, length in _PERIODS[axis.unit] if rate * length >= 0.95), _PERIODS[axis.unit][-1]
    )
    return _compared(f"usually {rate * length:.1f} {'per' if name[0].isdigit() else 'a'} {name}", lift)


def _compared(usual: str, lift: float | None) -> str:
    """Add how the forecast differs from the usual rate."""
    if lift is None:
        return usual
    if abs(lift - 1) <= SAME:
        return f"{usual}, now as likely as usual"
    return f"{usual}, now {lift:.1f} times as likely" if lift >= 0.1 else f"{usual}, now less than a tenth as likely"


def meaning(probability: float, kind: str, end: str, window: str = "") -> str:
    """Return what a probability says: an event of a window, or whether a fact that holds still does at its end.

    Args:
        probability: The probability.
        kind: The kind of the event.
        end: The last step of the window with its preposition, such as "in 2018".
        window: The window in words, if it is to be named.
    """
    if kind in ("continues", "ends"):
        ended = probability if kind == "ends" else 1 - probability
        return f"{percent(1 - ended)} that it still holds {end}, {percent(ended)} that it has ended"
    return f"{percent(probability)} that it {_VERBS[kind]}{f' in {window}' if window else ''}"


_VERBS = {"repeats": "happens again", "begins": "begins", "new": "happens for the first time"}
