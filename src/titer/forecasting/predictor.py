"""A model with one fixed history: from questions in words to ranked answers in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from titer.data.dataset import Dataset
from titer.data.relative_time import step_of
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError, TiterError
from titer.forecasting.evidence import grouped_evidence
from titer.forecasting.forecast import Answer, Forecast, PastFact, Reason
from titer.forecasting.names import NameIndex
from titer.forecasting.question import Question
from titer.forecasting.scoring import Scored, score
from titer.forecasting.terms import ImportedRows
from titer.forecasting.wording.describe import cautions, horizon, meaning, past_fact, relation_share
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.graph.sorted_edges import LAST_STEP
from titer.models.base import UNREACHED, Model
from titer.models.evidence import Edge
from titer.runs.horizons import Horizon

GIVE_ONE = "give exactly one of subject and object, and ? for the other"
OTHERS = {
    0: "events lists the most likely events, also those of one relation or between two entities",
    2: "likely and when say whether and when one event happens",
}
"""What answers the questions that ``Predictor`` does not: commands, methods and routes have these names."""


class EncodedQuestion(NamedTuple):
    """A question in ids: one row of ``Queries``."""

    subject: int
    """The entity that the question names."""
    relation: int
    """The relation, or its inverse if the question asks for the subject."""
    time: int


class _EarlierFacts(NamedTuple):
    """Which facts there are before the time of a question."""

    entity: bool
    """Whether its entity has any."""
    pair: bool
    """Whether its entity has any with its relation, in its direction."""
    seen: bool
    """Whether its relation has any."""


@dataclass(frozen=True)
class Predictor:
    """A model, one history that does not change, and the names in it. Safe to use from several threads."""

    model: Model
    axis: TimeAxis
    history: History
    relations: NameIndex
    entities: NameIndex
    rows: ImportedRows
    horizons: tuple[Horizon, ...] = ()

    @classmethod
    def create(
        cls,
        model: Model,
        axis: TimeAxis,
        history: History,
        dataset: Dataset | None = None,
        horizons: tuple[Horizon, ...] = (),
    ) -> "Predictor":
        """Index the names of a history; a dataset says which facts last, and has their attributes."""
        vocabulary = history.vocabulary
        relations, entities = NameIndex(vocabulary.relations, "relation"), NameIndex(vocabulary.entities, "entity")
        return cls(model, axis, history, relations, entities, ImportedRows(dataset), horizons)

    def on(self, history: History) -> "Predictor":
        """Return the same model with another history, which may have more entities."""
        names = history.vocabulary.entities
        entities = self.entities if names is self.entities.names else NameIndex(names, "entity")
        return Predictor(self.model, self.axis, history, self.relations, entities, self.rows, self.horizons)

    @property
    def vocabulary(self) -> Vocabulary:
        """The names of the history."""
        return self.history.vocabulary

    @property
    def last_time(self) -> int:
        """The time step of the last known fact."""
        return self.history.last_time or 0

    def time_of(self, question: Question) -> int:
        """Return the time step of a question."""
        time = self.last_time + 1
        if question.at is not None:
            time = step_of(question.at, self.axis, self.last_time)
        if time - self.history.first_time > LAST_STEP:
            raise DataError(f"{question.at} is too far ahead: more than {LAST_STEP:,} steps after the first fact")
        return time

    def encode(self, question: Question) -> EncodedQuestion:
        """Return a question in ids; raise an error if a name or the time is unknown."""
        given = [name for name in (question.subject, question.object) if name is not None]
        if len(given) != 1 or question.relation == "?":
            raise TiterError(f"{GIVE_ONE}; {OTHERS[0 if question.relation == '?' else len(given)]}")
        relation = self.relations.find(question.relation)
        directed = relation if question.object is None else self.vocabulary.inverse(relation)
        return EncodedQuestion(self.entities.find(given[0]), directed, self.time_of(question))

    def score(self, questions: Sequence[EncodedQuestion]) -> Scored:
        """Score all entities as answers to the questions of one batch."""
        columns = (torch.tensor(column) for column in zip(*questions, strict=True))
        return score(self.model, Queries(*columns), self.history)

    @torch.inference_mode()
    def forecasts(self, scored: Scored, top: int, explain: int) -> list[Forecast]:
        """Return the best answers to scored questions.

        Args:
            scored: The scores of the questions of one batch.
            top: How many answers to give at most.
            explain: How many kinds of evidence to give for each answer at most.
        """
        best = scored.best(top)
        scores, probabilities = (values.tolist() for values in scored.at(best))
        queries, has_past = scored.queries, scored.has_past.tolist()
        pair_seen, relation_seen = (seen.tolist() for seen in self._seen(queries))
        columns = (column.tolist() for column in (queries.subject, queries.relation, queries.time))
        questions = [EncodedQuestion(*values) for values in zip(*columns, strict=True)]
        results = []
        for row, entities in enumerate(best.tolist()):
            answers = []
            for rank, (entity, value) in enumerate(zip(entities, scores[row], strict=True), start=1):
                if value == UNREACHED:
                    break
                reasons = self._reasons(scored, row, entity, explain) if explain else ()
                name, probability = self.vocabulary.entities[entity], probabilities[row][rank - 1]
                answers.append(Answer(rank, name, value, probability, reasons))
            past = _EarlierFacts(has_past[row], pair_seen[row], relation_seen[row])
            results.append(self._forecast(questions[row], tuple(answers), past))
        return results

    @torch.inference_mode()
    def explain(self, question: EncodedQuestion, entity: int, limit: int, seen_from: int | None = None) -> Answer:
        """Return one answer to a question, whatever its rank, with its evidence.

        Args:
            question: The question.
            entity: The answer.
            limit: How many reasons to return at most.
            seen_from: The time step from which the age of evidence is counted. None means that of the question.
        """
        scored = self.score([question])
        name, rank = self.vocabulary.entities[entity], scored.rank(0, entity)
        if rank is None:
            raise TiterError(f"no earlier fact supports {name}")
        value, probability = scored.one(0, entity)
        return Answer(rank, name, value, probability, self._reasons(scored, 0, entity, limit, seen_from))

    def describe(self, edge: Edge, asked: int, numbers: dict[str, float] | None = None) -> PastFact:
        """Return a fact in words, as seen from the time of a question, with a model's numbers for it."""
        fact = edge.forward(self.vocabulary)
        term = self.rows.term_of(fact, self.history, asked)
        attributes, phrases = self.rows.attributes(fact), self.rows.phrases
        return past_fact(edge, asked, self.vocabulary, self.axis, numbers, term, attributes, phrases)

    def _forecast(self, question: EncodedQuestion, answers: tuple[Answer, ...], past: "_EarlierFacts") -> Forecast:
        vocabulary, (subject, relation, time) = self.vocabulary, question
        asks_subject = bool(vocabulary.is_inverse(relation))
        name, relation_name = vocabulary.entities[subject], vocabulary.relations[vocabulary.undirected(relation)]
        parts = ("?", relation_name, name) if asks_subject else (name, relation_name, "?")
        return Forecast(
            subject=None if asks_subject else name,
            relation=relation_name,
            object=name if asks_subject else None,
            time=self.axis.label(time),
            date=self.axis.words(time),
            ahead=time - self.last_time,
            horizon=horizon(time, self.history, self.axis),
            answers=answers,
            no_history=not past.entity,
            caution=self._caution(name, relation_name, time, past) if answers else "",
            meaning=meaning(" — ".join(parts), time, self.axis) if answers else "",
        )

    def _caution(self, name: str, relation: str, time: int, past: "_EarlierFacts") -> str:
        return cautions(name, relation, time, self.history, self.axis, self.horizons, **past._asdict())

    def _seen(self, queries: Queries) -> tuple[torch.Tensor, torch.Tensor]:
        """Return which queries have an earlier fact with their entity and relation, and with their relation at all."""
        edges = self.history.all_before(queries.subject, queries.time)
        pair = torch.zeros(len(queries), dtype=torch.bool, device=edges.row.device)
        pair[edges.row[edges.relation == queries.relation[edges.row]]] = True
        relation = pair.clone()
        if not bool(pair.all()):  # the index of relations is built only if it is needed
            relation[~pair] = self.history.popularity.num_facts(queries[~pair]) > 0
        return pair, relation

    def _reasons(
        self, scored: Scored, row: int, entity: int, limit: int, seen_from: int | None = None
    ) -> tuple[Reason, ...]:
        query = scored.queries[row : row + 1]
        if bool(scored.by_relation[row]):
            share, num_facts = scored.one(row, entity)[0], int(self.history.popularity.num_facts(query))
            return (Reason((), 1.0, relation_share(share, num_facts)),)
        asked = int(query.time) if seen_from is None else seen_from
        return tuple(
            Reason(
                tuple(self.describe(edge, asked, numbers) for edge, numbers in item.hops),
                item.share,
                item.note,
                self.rows.num_paths(item.path, item.count, self.history, asked),
            )
            for item in grouped_evidence(self.model, query, entity, self.history, limit)
        )
