"""Single questions worth looking at: where a model was sure and right, and where it was sure and wrong."""

from xml.etree.ElementTree import Element

import torch

from titer.drawing.elements import el
from titer.evaluation.evaluate import Evaluation
from titer.evaluation.task import past_facts
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model
from titer.report.timeline import draw_evidence

MAX_EVIDENCE = 5


@torch.inference_mode()
def best_and_worst(model: Model, found: Evaluation, count: int) -> tuple[list[Element], list[Element]]:
    """The surest right and the surest wrong top answers, at most one for each relation, with their evidence drawn."""
    history = History(past_facts(found.dataset, found.split, found.protocol.past), found.dataset.vocabulary)
    history = history.to(model.device)
    right = [el("article", *_tell(model, found, row, history)) for row in _surest(found, count, right=True)]
    wrong = [el("article", *_tell(model, found, row, history)) for row in _surest(found, count, right=False)]
    return right, wrong


def _surest(found: Evaluation, count: int, *, right: bool) -> list[int]:
    """Questions in order of how sure the model was, each of another relation."""
    wanted = found.confidence.correct == right
    order = torch.argsort(torch.where(wanted, found.confidence.probability, -1.0), descending=True, stable=True)
    chosen: dict[int, int] = {}
    for row in order[: int(wanted.sum())].tolist():
        chosen.setdefault(int(found.queries.relation[row]), row)
        if len(chosen) == count:
            break
    return list(chosen.values())


def _tell(model: Model, found: Evaluation, row: int, history: History) -> list[Element]:
    """One question: what was asked, what was answered, what was true, and why."""
    vocabulary, axis = found.dataset.vocabulary, found.dataset.axis
    query: Queries = found.queries[row : row + 1].to(model.device)
    subject, relation, time = int(query.subject), int(query.relation), int(query.time)
    scores = model.score(query, history)[0]
    top, true = int(scores.argmax()), int(found.answers[row])
    known, asked = vocabulary.entities[subject], vocabulary.relations[vocabulary.undirected(relation)]
    words = f"? — {asked} — {known}" if vocabulary.is_inverse(relation) else f"{known} — {asked} — ?"
    sure = float(found.confidence.probability[row])
    rank = found.ranks_under()[row]
    answer = f"It said {vocabulary.entities[top]}, {sure:.1%} sure."
    if top != true:
        answer += f" One true answer is {vocabulary.entities[true]}, which it ranked {rank:,.0f}."
    parts = [el("h3", f"{words}, {axis.words(time)}"), el("p", answer)]
    for entity in dict.fromkeys([top, true]):
        evidence = [item for item in model.explain(query, entity, history, MAX_EVIDENCE) if item.path]
        if evidence:
            parts.append(el("p", f"For {vocabulary.entities[entity]}:", class_="note"))
            parts.append(draw_evidence(evidence, subject, entity, time, vocabulary, axis))
    return parts
