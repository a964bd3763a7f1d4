"""Ask a trained model in words."""

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from titer.data.dataset import Dataset
from titer.errors import DataError, TiterError
from titer.evaluation.evaluate import BATCH_SIZES
from titer.forecasting.forecast import Answer, DatedFact, Forecast, Reason, Unanswered
from titer.forecasting.names import NameIndex
from titer.forecasting.question import Question, When
from titer.forecasting.scoring import Scored, score
from titer.forecasting.what_if import AnyFact, Change, WhatIf, compare
from titer.forecasting.wording.sentences import sentence
from titer.graph.history import LAST_STEP, History
from titer.graph.queries import Queries
from titer.models.base import Edge, Evidence, Model
from titer.models.common.evidence import grouped_evidence
from titer.runs.run import Run

if TYPE_CHECKING:
    from titer.store.live import LiveHistory

MAX_SCORES = 1 << 25
"""Scores held at once: fewer questions make a batch where there are very many entities."""
BATCHES_READ_AHEAD = 16
"""Questions of so many batches are sorted by time, since those of one moment share work."""
MAX_ANSWERS = 1 << 16
"""Answers held at once, with their evidence."""


@dataclass(frozen=True)
class EncodedQuestion:
    """A question in ids, as the model is asked it."""

    subject: int
    """The entity that the question names."""
    relation: int
    """An inverse where the subject is asked for."""
    time: int


class Forecaster:
    """A model, the facts it knows, and their names.

    >>> forecaster = Forecaster.load("runs/icews14")
    >>> print(forecaster.ask("China", "Consult", at="2014-12-31", explain=3))
    """

    def __init__(self, model: Model, dataset: Dataset, store: str | Path | None = None, *, run: Run | None = None):
        self.model = model
        self.run = run
        self.dataset = dataset
        self.axis = dataset.axis
        self.relations = NameIndex(dataset.vocabulary.relations, "relation")
        self.entities = NameIndex(dataset.vocabulary.entities, "entity")
        self._know(History(dataset.facts, dataset.vocabulary).to(model.device))
        self.store = store
        self.live: LiveHistory | None = None
        self.refresh()

    @classmethod
    def load(cls, run: Run | Path | str, device: str = "auto", store: str | Path | None = None) -> "Forecaster":
        """From a run directory, with the facts that were added to it: in ``store``, or else in the directory itself."""
        run = run if isinstance(run, Run) else Run(run)
        return cls(run.load_model(device), run.dataset, store or run.store_path, run=run)

    def __repr__(self) -> str:
        place = f", {self.run.path}" if self.run is not None else ""
        last = self.axis.label(self.last_time)
        entities = f"{self.vocabulary.num_entities:,} entities"
        return f"<Forecaster: {self.model.name} on {self.dataset.name}, {entities}, facts up to {last}{place}>"

    def refresh(self) -> None:
        """Take in the facts that were added since; every question does so first."""
        if self.live is None:
            if self.store is None or (isinstance(self.store, Path) and not self.store.exists()):
                return  # nothing was added yet
            from titer.store.facts import FactStore
            from titer.store.live import LiveHistory

            self.live = LiveHistory(FactStore(self.store, self.dataset), self.history)
        if (current := self.live.current()) is not self.history:
            self._know(current)

    def on(self, history: History) -> "Forecaster":
        """The same model before another past, which may know more entities."""
        other = copy.copy(self)
        other.live = other.store = None
        other._know(history)
        return other

    def _know(self, history: History) -> None:
        self.history, self.vocabulary = history, history.vocabulary
        self.last_time = history.last_time or 0
        if self.vocabulary.entities is not self.entities.names:
            self.entities = NameIndex(self.vocabulary.entities, "entity")

    def ask(
        self,
        subject: str | None,
        relation: str,
        object: str | None = None,
        *,
        at: When | None = None,
        top: int = 10,
        explain: int = 0,
        without: Sequence[AnyFact] = (),
        with_: Sequence[AnyFact] = (),
    ) -> Forecast:
        """The most likely objects of (subject, relation, ?), or subjects of (?, relation, object).

        Only facts strictly before ``at`` are looked at; without it, the question is about the step after the last
        known fact. Names may be typed in any case, and cut short where that leaves only one. ``explain`` is how many
        kinds of evidence to give for each answer, strongest first: paths that differ only in their dates are one. The
        question can be asked as if some facts had not happened, or others had: see ``what_if``, which also says what
        that changes.
        """
        question = Question(subject, relation, object, at)
        if without or with_:
            return self.what_if(question, without=without, with_=with_, top=top, explain=explain).after
        (found,) = self.ask_many([question], top=top, explain=explain)
        if isinstance(found, Unanswered):
            raise found.error
        return found

    def ask_many(
        self,
        questions: Iterable[Question | Unanswered],
        *,
        top: int = 10,
        explain: int = 0,
        batch_size: int | None = None,
    ) -> Iterator[Forecast | Unanswered]:
        """Answer questions in their order, a batch at a time, and hold no more than a few batches in memory.

        A question that makes no sense does not stop the others: in its place comes what is wrong with it. What is
        already known to be ``Unanswered`` is passed on.
        """
        if top < 1:
            raise TiterError(f"at least one answer must be asked for, not {top}")
        self.refresh()
        size = batch_size or BATCH_SIZES.get(self.model.device.type, 256)
        size = max(1, min(size, MAX_SCORES // max(self.vocabulary.num_entities, 1)))
        ahead = max(1, min(BATCHES_READ_AHEAD * size, MAX_ANSWERS // (top * (1 + explain))))
        # One past for all of them, whatever this forecaster is told meanwhile.
        return self.on(self.history)._in_batches(iter(questions), top, explain, size, ahead)

    def explain(
        self,
        question: Question,
        answer: str,
        *,
        limit: int = 10,
        without: Sequence[AnyFact] = (),
        with_: Sequence[AnyFact] = (),
    ) -> Answer:
        """One answer to a question, whatever its rank, with the evidence for it, strongest first.

        The history can be changed as in ``what_if``.
        """
        self.refresh()
        now = self.on(self.history)
        if without or with_:
            now = now.on(Change.of(now, now.time_of(question), without, with_).after)
        scored = now.score([now.in_ids(question)])
        entity = now.entities.find(answer)
        rank = scored.rank(0, entity)
        name = now.vocabulary.entities[entity]
        if rank is None:
            raise TiterError(f"nothing that was known before this time speaks for {name}")
        value, probability = float(scored.scores[0, entity]), float(scored.probabilities[0, entity])
        with torch.inference_mode():
            return Answer(rank, name, value, probability, now._reasons(scored, 0, entity, limit))

    def what_if(
        self,
        question: Question,
        *,
        without: Sequence[AnyFact] = (),
        with_: Sequence[AnyFact] = (),
        top: int = 10,
        explain: int = 0,
    ) -> WhatIf:
        """The answers to a question as things are, and as if some facts had not happened or others had.

        A fact is a (subject, relation, object, time), the fact of a piece of evidence, or text such as ``"Nigeria |
        Consult | Muhammadu Buhari | 2018-10-01"``. Facts that are put in may name new entities. All of them must be
        before the question's time.
        """
        self.refresh()
        now = self.on(self.history)
        return compare(now, question, Change.of(now, now.time_of(question), without, with_), top, explain)

    def time_of(self, question: Question) -> int:
        """The step that a question is about."""
        time = self.axis.step(question.at) if question.at is not None else self.last_time + 1
        if time - self.history.first_time > LAST_STEP:
            raise DataError(f"{question.at} is too far ahead: more than {LAST_STEP:,} steps after the first fact")
        return time

    def in_ids(self, question: Question) -> EncodedQuestion:
        """A question in ids; raises if it makes no sense."""
        given = [name for name in (question.subject, question.object) if name is not None]
        if len(given) != 1:
            raise TiterError("ask either for the object of a subject, or with ? as the subject for that of an object")
        relation = self.relations.find(question.relation)
        directed = relation if question.object is None else self.vocabulary.inverse(relation)
        return EncodedQuestion(self.entities.find(given[0]), directed, self.time_of(question))

    def score(self, asked: Sequence[EncodedQuestion]) -> Scored:
        """What the model says about questions of one batch."""
        columns = ([getattr(one, name) for one in asked] for name in ("subject", "relation", "time"))
        return score(self.model, Queries(*(torch.tensor(column) for column in columns)), self.history)

    def _in_batches(
        self, questions: Iterator[Question | Unanswered], top: int, explain: int, size: int, ahead: int
    ) -> Iterator[Forecast | Unanswered]:
        while window := list(islice(questions, ahead)):
            found: list[Forecast | Unanswered | None] = [None] * len(window)
            asked: list[tuple[int, EncodedQuestion]] = []
            for place, question in enumerate(window):
                if isinstance(question, Unanswered):
                    found[place] = question
                    continue
                try:
                    asked.append((place, self.in_ids(question)))
                except TiterError as error:
                    found[place] = Unanswered(question, error.with_traceback(None))
            asked.sort(key=lambda item: (item[1].time, item[1].relation))
            for start in range(0, len(asked), size):
                places, batch = zip(*asked[start : start + size], strict=True)
                for place, forecast in zip(places, self.forecasts(batch, self.score(batch), top, explain), strict=True):
                    found[place] = forecast
            yield from (result for result in found if result is not None)

    @torch.inference_mode()
    def forecasts(self, asked: Sequence[EncodedQuestion], scored: Scored, top: int, explain: int) -> list[Forecast]:
        """The answers to questions that were scored."""
        best = scored.best(top)
        scores, probabilities = (values.gather(1, best).tolist() for values in (scored.scores, scored.probabilities))
        has_past = scored.has_past.tolist()
        found = []
        for row, (one, entities) in enumerate(zip(asked, best.tolist(), strict=True)):
            answers = []
            for rank, (entity, value) in enumerate(zip(entities, scores[row], strict=True), start=1):
                if value == float("-inf"):
                    break
                reasons = self._reasons(scored, row, entity, explain) if explain else ()
                name, probability = self.vocabulary.entities[entity], probabilities[row][rank - 1]
                answers.append(Answer(rank, name, value, probability, reasons))
            found.append(self._forecast(one, tuple(answers), no_history=not has_past[row]))
        return found

    def _forecast(self, asked: EncodedQuestion, answers: tuple[Answer, ...], *, no_history: bool) -> Forecast:
        vocabulary = self.vocabulary
        asks_subject = bool(vocabulary.is_inverse(asked.relation))
        name = vocabulary.entities[asked.subject]
        return Forecast(
            subject=None if asks_subject else name,
            relation=vocabulary.relations[vocabulary.undirected(asked.relation)],
            object=name if asks_subject else None,
            time=self.axis.label(asked.time),
            ahead=asked.time - self.last_time,
            horizon=self._horizon(asked.time),
            answers=answers,
            no_history=no_history,
            caution=self._caution(name, asked.time) if no_history and answers else "",
        )

    def _horizon(self, time: int) -> str:
        last = self.axis.words(self.last_time)
        ahead = time - self.last_time
        if ahead > 0:
            return f"{self.axis.duration(ahead)} after the last known fact ({last})"
        if time <= self.history.first_time:
            return f"before the first known fact ({self.axis.words(self.history.first_time)}): nothing was known yet"
        return f"inside the data, which goes on to {last}; only facts before the question are used as evidence"

    def _caution(self, name: str, time: int) -> str:
        return f"nothing is known of {name} before {self.axis.words(time)}: no fact of its own speaks for these answers"

    def _reasons(self, scored: Scored, row: int, entity: int, limit: int) -> tuple[Reason, ...]:
        query = scored.queries[row : row + 1]
        if bool(scored.by_relation[row]):
            share, num_facts = float(scored.scores[row, entity]), int(self.history.popularity.num_facts(query))
            counted = f"{round(share * num_facts):,} of {num_facts:,} past facts"
            said = counted if num_facts > 1 else "the only past fact"
            return (Reason((), 1.0, f"the answer in {said} with this relation"),)
        evidence = grouped_evidence(self.model, query, entity, self.history, limit)
        return tuple(self._reason(item, int(query.time)) for item in evidence)

    def _reason(self, evidence: Evidence, asked: int) -> Reason:
        facts = tuple(self.dated(edge, asked) for edge in evidence.path)
        return Reason(facts, evidence.share, evidence.note, evidence.count)

    def dated(self, edge: Edge, asked: int) -> DatedFact:
        """A fact in words, as seen from the time of a question."""
        vocabulary = self.vocabulary
        fact = edge.forward(vocabulary)
        names = vocabulary.entities[fact.subject], vocabulary.relations[fact.relation], vocabulary.entities[fact.object]
        ago = self.axis.duration(asked - fact.time)
        return DatedFact(
            *names,
            time=self.axis.label(fact.time),
            date=self.axis.words(fact.time),
            ago=ago,
            age=asked - fact.time,
            sentence=f"{sentence(*names)} {self.axis.when(fact.time)}, {ago} before",
        )
