"""The evidence for an answer as a picture."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path as FilePath
from xml.etree.ElementTree import Element, tostring

from titer.drawing.elements import el
from titer.drawing.timeline import Hop, Path, draw_timeline
from titer.errors import TiterError
from titer.files import write_text
from titer.forecasting.forecast import Answer, Forecast
from titer.forecasting.wording.render import WORTH_SHOWING
from titer.forecasting.wording.sentences import readable, relation_words


def timeline_style() -> str:
    """Return the style sheet of the picture, to be included once in a page that shows any."""
    return files("titer.drawing").joinpath("timeline.css").read_text(encoding="utf-8")


def evidence_svg(forecast: Forecast, answer: Answer, *, interactive: bool = True) -> str:
    """Draw the evidence for an answer as an ``svg`` element to embed in a page that includes ``timeline_style()``.

    Args:
        forecast: The forecast that the answer belongs to.
        answer: The answer, with its reasons.
        interactive: Whether facts can take the keyboard focus and are announced as buttons. Each fact is a group with
            the attributes ``data-reason`` and ``data-fact``, its indices in ``answer.reasons`` and their ``facts``.

    Returns:
        The element as text, or ``""`` if no reason worth showing has facts.
    """
    drawn = draw_evidence(forecast, answer, interactive=interactive)
    return "" if drawn is None else tostring(drawn, encoding="unicode")


def draw_evidence(forecast: Forecast, answer: Answer, *, interactive: bool = False) -> Element | None:
    """Draw the evidence for an answer as an ``svg`` element; None if no reason worth showing has facts."""
    paths = [
        Path(
            number,
            reason.share,
            tuple(
                Hop(
                    readable(fact.start),
                    readable(fact.end),
                    fact.reversed,
                    relation_words(fact.relation),
                    fact.date,
                    fact.age,
                    fact.sentence,
                )
                for fact in reason.facts
            ),
        )
        for number, reason in enumerate(answer.reasons)
        if reason.facts and reason.share >= WORTH_SHOWING
    ]
    if not paths:
        return None
    title = f"Evidence for {answer.entity}: " + "; ".join(answer.reasons[path.number].text for path in paths[:3])
    names = readable(forecast.entity), readable(answer.entity)
    return draw_timeline(
        paths,
        *names,
        forecast.date,
        question=forecast.question,
        reversed=forecast.subject is None,
        title=title,
        interactive=interactive,
    )


@dataclass(frozen=True)
class Picture:
    """A picture that notebooks display and ``save`` writes to a file.

    Attributes:
        svg: A complete SVG document with its styles, for light and dark backgrounds.
    """

    svg: str

    @classmethod
    def of(cls, forecast: Forecast, rank: int = 1) -> "Picture":
        """Draw the evidence for one answer of a forecast.

        Args:
            forecast: A forecast with evidence.
            rank: Rank of the answer.

        Raises:
            TiterError: The forecast has no answer of this rank, or no path of facts to draw for it.
        """
        answer = next((answer for answer in forecast.answers if answer.rank == rank), None)
        if answer is None:
            raise TiterError(f"there is no answer of rank {rank}; the forecast has {len(forecast.answers)} answers")
        drawn = draw_evidence(forecast, answer)
        if drawn is None:
            why = "none of its evidence is a path of facts" if answer.reasons else "ask with explain=5, for example"
            raise TiterError(f"there is no evidence to draw for {answer.entity}: {why}")
        drawn.insert(0, el("style", timeline_style()))
        drawn.set("xmlns", "http://www.w3.org/2000/svg")
        return cls(tostring(drawn, encoding="unicode") + "\n")

    def _repr_html_(self) -> str:
        return self.svg

    def save(self, path: FilePath | str) -> None:
        """Write the picture to an SVG file.

        Args:
            path: Where to write it. An existing file is replaced.
        """
        write_text(FilePath(path), self.svg)
