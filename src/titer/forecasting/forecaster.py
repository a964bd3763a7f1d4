"""Ask a trained model in words."""

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from titer.data.dataset import Dataset
from titer.errors import TiterError
from titer.forecasting.forecast import Answer, DatedFact, Forecast, Reason
from titer.forecasting.names import NameIndex
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Edge, Evidence, Model
from titer.training.run import Run

if TYPE_CHECKING:
    from titer.store.live import LiveHistory


class Forecaster:
    """A model, the facts it knows, and their names.

    >>> forecaster = Forecaster.load("runs/icews14")
    >>> forecaster.ask("Nigeria", "Consult", at="2014-12-31", explain=3)
    """

    def __init__(self, model: Model, dataset: Dataset, store: str | Path | None = None):
        self.model = model
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
        return cls(run.load_model(device), run.dataset, store or run.store_path)

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

    def _know(self, history: History) -> None:
        self.history, self.vocabulary = history, history.vocabulary
        assert history.last_time is not None
        self.last_time = history.last_time
        if self.vocabulary.num_entities != len(self.entities.names):
            self.entities = NameIndex(self.vocabulary.entities, "entity")

    @torch.inference_mode()
    def ask(
        self,
        subject: str | None,
        relation: str,
        object: str | None = None,
        *,
        at: str | int | date | None = None,
        top: int = 10,
        explain: int = 0,
    ) -> Forecast:
        """The most likely objects of (subject, relation, ?), or subjects of (?, relation, object).

        Only facts strictly before ``at`` are looked at; without it, the question is about the step after the last
        known fact. Names may be typed in any case, and cut short where that leaves only one. ``explain`` is how many
        pieces of evidence to give for each answer, strongest first.
        """
        if (subject is None) == (object is None):
            raise TiterError("ask either for the object of a subject, or with ? as the subject for that of an object")
        if top < 1:
            raise TiterError(f"at least one answer must be asked for, not {top}")
        self.refresh()
        relation_id = self.relations.find(relation)
        known = self.entities.find(subject if subject is not None else str(object))
        time = self.axis.step(at) if at is not None else self.last_time + 1
        directed = relation_id if subject is not None else self.vocabulary.inverse(relation_id)
        query = Queries.one(known, directed, time).to(self.model.device)
        name = self.vocabulary.entities[known]
        return Forecast(
            subject=name if subject is not None else None,
            relation=self.vocabulary.relations[relation_id],
            object=name if subject is None else None,
            time=self.axis.label(time),
            ahead=time - self.last_time,
            horizon=self._horizon(time),
            answers=self._answers(query, top, explain),
        )

    def _horizon(self, time: int) -> str:
        last = self.axis.words(self.last_time)
        ahead = time - self.last_time
        if ahead > 0:
            return f"{self.axis.duration(ahead)} after the last known fact ({last})"
        if time <= self.history.first_time:
            return f"before the first known fact ({self.axis.words(self.history.first_time)}): nothing was known yet"
        return f"inside the data, which goes on to {last}; only facts before the question are used as evidence"

    def _answers(self, query: Queries, top: int, explain: int) -> tuple[Answer, ...]:
        scores = self.model.score(query, self.history)
        probabilities, scores = self.model.probabilities(scores)[0], scores[0]
        # Stable, so that equally good answers always come in the same order.
        best = torch.argsort(scores, descending=True, stable=True)[:top].tolist()
        answers = []
        for rank, entity in enumerate(best, start=1):
            score = float(scores[entity])
            if score == float("-inf"):
                break
            evidence = self.model.explain(query, entity, self.history, explain) if explain else []
            reasons = tuple(self._reason(item, int(query.time)) for item in evidence)
            name, probability = self.vocabulary.entities[entity], float(probabilities[entity])
            answers.append(Answer(rank, name, score, probability, reasons))
        return tuple(answers)

    def _reason(self, evidence: Evidence, asked: int) -> Reason:
        return Reason(tuple(self._fact(edge, asked) for edge in evidence.path), evidence.share, evidence.note)

    def _fact(self, edge: Edge, asked: int) -> DatedFact:
        vocabulary = self.vocabulary
        fact = edge.forward(vocabulary)
        return DatedFact(
            subject=vocabulary.entities[fact.subject],
            relation=vocabulary.relations[fact.relation],
            object=vocabulary.entities[fact.object],
            time=self.axis.label(fact.time),
            date=self.axis.words(fact.time),
            ago=self.axis.duration(asked - fact.time),
        )
