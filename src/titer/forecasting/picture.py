"""The evidence for an answer as a picture."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path as FilePath
from xml.etree.ElementTree import Element, tostring

from titer.drawing.elements import el
from titer.drawing.timeline import TimelineHop, TimelinePath, draw_timeline
from titer.errors import TiterError
from titer.files import write_text
from titer.forecasting.forecast import Answer, Forecast
from titer.forecasting.wording.render import WORTH_SHOWING
from titer.forecasting.wording.sentences import readable, relation_words


def timeline_style() -> str:
    """Return the style sheet of the picture, to be included once in a page that shows any."""
    return files("titer.drawing").joinpath("timeline.css").read_text(encoding="utf-8")


def draw_evidence(forecast: Forecast, answer: Answer, *, interactive: bool = False) -> Element | None:
    """Draw the evidence for an answer as an ``svg`` element; None if no reason worth showing has facts."""
    paths = [
        TimelinePath(
            number,
            reason.share,
            tuple(
                TimelineHop(
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


@dataclass(frozen=True, repr=False)
class Picture:
    """A picture that notebooks display and ``save`` writes to a file.

    Attributes:
        svg: An SVG document, for light and dark backgrounds.
    """

    svg: str

    def __repr__(self) -> str:
        return f"<Picture: {len(self.svg):,} characters of SVG>"

    @classmethod
    def of(cls, forecast: Forecast, rank: int = 1, *, embedded: bool = False) -> "Picture":
        """Draw the evidence for one answer of a forecast.

        Each fact is a group with the attributes ``data-reason`` and ``data-fact``, its indices in ``answer.reasons``
        and their ``facts``.

        Args:
            forecast: A forecast with evidence.
            rank: Rank of the answer.
            embedded: Whether the picture becomes part of a page that includes ``timeline_style()`` and reacts to
                clicks on facts: it then has no style sheet, and its facts are announced as buttons.

        Returns:
            The picture.

        Raises:
            TiterError: The forecast has no answer of this rank, or no path of facts to draw for it.
        """
        answer = next((answer for answer in forecast.answers if answer.rank == rank), None)
        if answer is None:
            raise TiterError(f"there is no answer of rank {rank}; the forecast has {len(forecast.answers)} answers")
        drawn = draw_evidence(forecast, answer, interactive=embedded)
        if drawn is None:
            why = "none of its evidence is a path of facts" if answer.reasons else "ask with explain=5, for example"
            raise TiterError(f"there is no evidence to draw for {answer.entity}: {why}")
        if not embedded:
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
