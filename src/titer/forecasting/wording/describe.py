"""Facts and time spans in words, as seen from the time of a question."""

from collections.abc import Mapping

from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.forecasting.forecast import PastFact
from titer.forecasting.terms import Term, term_words
from titer.forecasting.wording.sentences import sentence
from titer.graph.history import History
from titer.models.evidence import Edge
from titer.runs.horizons import Horizon, overconfidence


def past_fact(
    edge: Edge,
    asked: int,
    vocabulary: Vocabulary,
    axis: TimeAxis,
    numbers: dict[str, float] | None = None,
    term: Term | None = None,
    attributes: str = "",
    phrases: Mapping[str, str] | None = None,
) -> PastFact:
    """Return the fact that a path walks along, in words.

    Args:
        edge: The fact in the direction of the path; its relation may be an inverse.
        asked: The time step of the question.
        vocabulary: The names of entities and relations.
        axis: The calendar of the time steps.
        numbers: What a model computed for this hop of the path, by name.
        term: First and last time step of the fact before the question, if it lasts.
        attributes: Text after the fact.
        phrases: The phrases of the dataset, by relation.
    """
    fact = edge.forward(vocabulary)
    names = vocabulary.entities[fact.subject], vocabulary.relations[fact.relation], vocabulary.entities[fact.object]
    ago = axis.duration(asked - fact.time)
    when, date = f"{axis.when(fact.time)}, {ago} before", axis.words(fact.time)
    if term is not None and term[0] < term[1]:
        when = date = term_words(term, asked, axis)
        if term[1] < asked - 1:
            when += f", {axis.duration(asked - term[1])} before"
    return PastFact(
        *names,
        time=axis.label(fact.time),
        date=date,
        ago=ago,
        age=asked - fact.time,
        sentence=f"{sentence(*names, phrases)} {when}{attributes}",
        reversed=bool(vocabulary.is_inverse(edge.relation)),
        numbers=dict(numbers or {}),
    )


def horizon(asked: int, history: History, axis: TimeAxis) -> str:
    """Say how far ahead of the known facts a question is."""
    last = history.last_time or 0
    if asked > last:
        return f"{axis.duration(asked - last)} after the last known fact, {axis.words(last)}"
    if asked <= history.first_time:
        return f"not after the first known fact, {axis.words(history.first_time)}, so there is no history"
    return f"within the data, which ends {axis.when(last)}; only facts before the question's time are used"


FAR = 0.1
"""A question is far after the data if it is further ahead than this share of the time that the data covers."""


def meaning(question: str, asked: int, axis: TimeAxis) -> str:
    """Say what the probabilities of a question's answers mean."""
    return (
        f"Probabilities: if {question} happens {axis.when(asked)}, how likely each answer is; not whether it happens."
    )


def cautions(
    name: str,
    relation: str,
    asked: int,
    history: History,
    axis: TimeAxis,
    horizons: tuple[Horizon, ...] = (),
    *,
    entity: bool,
    pair: bool,
    seen: bool,
) -> str:
    """Say what makes the answers to a question less reliable; nothing if all is well.

    Args:
        name: The entity that the question names.
        relation: The relation of the question.
        asked: The time step of the question.
        history: The known facts.
        axis: The calendar of the time steps.
        horizons: How reliable answers were by horizon, if that was measured.
        entity: Whether the entity has an earlier fact.
        pair: Whether it has an earlier fact with the relation, in the direction of the question.
        seen: Whether any earlier fact has the relation.
    """
    found = []
    date, last = axis.words(asked), history.last_time or 0
    if not entity:
        found.append(f"{name} has no fact before {date}, so no fact about it supports these answers")
    if not seen:
        found.append(f"no fact before {date} has the relation {relation}")
    elif entity and not pair:
        found.append(f"{name} has no fact with this relation before {date}")
    if asked - last > max(1.0, FAR * (last - history.first_time)):
        ahead, first = axis.duration(asked - last), axis.duration(1)
        found.append(f"{ahead} ahead is far after the data; probabilities were calibrated for {first} ahead")
    if (far := overconfidence(horizons, asked - last)) is not None:
        found.append(
            f"in validation, top answers {axis.duration(far.first)} ahead or more were right in "
            f"{100 * far.right:.0f} of 100 cases, with a mean probability of {far.probability:.0%}"
        )
    return "; ".join(found)


def relation_share(share: float, num_facts: int) -> str:
    """Say how often an entity was the answer to a relation so far."""
    counted = f"{round(share * num_facts):,} of {num_facts:,} past facts" if num_facts > 1 else "the only past fact"
    return f"the answer in {counted} with this relation"
