"""Ask a trained model in words."""

from datetime import date
from pathlib import Path

import torch

from titer.data.dataset import Dataset
from titer.errors import TiterError
from titer.forecasting.forecast import Answer, DatedFact, Forecast, Reason
from titer.forecasting.names import NameIndex
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Edge, Evidence, Model
from titer.models.evidence import grouped_evidence
from titer.training.run import Run


class Forecaster:
    """A model, the facts it knows, and their names.

    >>> forecaster = Forecaster.load("runs/icews14")
    >>> forecaster.ask("Nigeria", "Consult", at="2014-12-31", explain=3)
    """

    def __init__(self, model: Model, dataset: Dataset):
        self.model = model
        self.dataset = dataset
        self.axis = dataset.axis
        self.history = History(dataset.facts, dataset.vocabulary).to(model.device)
        self.last_time = int(dataset.facts.time.max())
        self.entities = NameIndex(dataset.vocabulary.entities, "entity")
        self.relations = NameIndex(dataset.vocabulary.relations, "relation")

    @classmethod
    def load(cls, run: Run | Path | str, device: str = "auto") -> "Forecaster":
        """From a run directory."""
        run = run if isinstance(run, Run) else Run(run)
        return cls(run.load_model(device), run.dataset)

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
        kinds of evidence to give for each answer, strongest first: paths that differ only in their dates are one.
        """
        if (subject is None) == (object is None):
            raise TiterError("ask either for the object of a subject, or with ? as the subject for that of an object")
        if top < 1:
            raise TiterError(f"at least one answer must be asked for, not {top}")
        relation_id = self.relations.find(relation)
        known = self.entities.find(subject if subject is not None else str(object))
        time = self.axis.step(at) if at is not None else self.last_time + 1
        directed = relation_id if subject is not None else self.dataset.vocabulary.inverse(relation_id)
        query = Queries.one(known, directed, time).to(self.model.device)
        name = self.dataset.vocabulary.entities[known]
        return Forecast(
            subject=name if subject is not None else None,
            relation=self.dataset.vocabulary.relations[relation_id],
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
            evidence = grouped_evidence(self.model, query, entity, self.history, explain) if explain else []
            reasons = tuple(self._reason(item, int(query.time)) for item in evidence)
            name, probability = self.dataset.vocabulary.entities[entity], float(probabilities[entity])
            answers.append(Answer(rank, name, score, probability, reasons))
        return tuple(answers)

    def _reason(self, evidence: Evidence, asked: int) -> Reason:
        facts = tuple(self._fact(edge, asked) for edge in evidence.path)
        return Reason(facts, evidence.share, evidence.note, evidence.count)

    def _fact(self, edge: Edge, asked: int) -> DatedFact:
        vocabulary = self.dataset.vocabulary
        fact = edge.forward(vocabulary)
        return DatedFact(
            subject=vocabulary.entities[fact.subject],
            relation=vocabulary.relations[fact.relation],
            object=vocabulary.entities[fact.object],
            time=self.axis.label(fact.time),
            date=self.axis.words(fact.time),
            ago=self.axis.duration(asked - fact.time),
        )
