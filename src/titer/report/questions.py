"""Example questions of a report: the most confident right answers and the most confident wrong ones."""

from xml.etree.ElementTree import Element

import torch

from titer.drawing.elements import el
from titer.errors import TiterError
from titer.evaluation.evaluate import Evaluation
from titer.forecasting.forecast import Answer, Forecast
from titer.forecasting.picture import draw_evidence
from titer.forecasting.predictor import EncodedQuestion, Predictor
from titer.forecasting.wording.render import SHARES, evidence_lines

MAX_EVIDENCE = 5


def best_and_worst(predictor: Predictor, evaluation: Evaluation, count: int) -> tuple[list[Element], list[Element]]:
    """Return the most confident right and wrong top answers with their evidence, one per directed relation."""

    def examples(*, right: bool) -> list[Element]:
        rows = _most_confident(evaluation, count, right=right)
        return [el("article", *_example(predictor, evaluation, row)) for row in rows]

    return examples(right=True), examples(right=False)


def _most_confident(evaluation: Evaluation, count: int, *, right: bool) -> list[int]:
    """Return query rows by descending confidence, each with another relation."""
    wanted = evaluation.confidence.correct == right
    confidence = torch.where(wanted, evaluation.confidence.probability, -1.0)
    order = torch.argsort(confidence, descending=True, stable=True)
    chosen: dict[int, int] = {}
    for row in order[: int(wanted.sum())].tolist():
        chosen.setdefault(int(evaluation.queries.relation[row]), row)
        if len(chosen) == count:
            break
    return list(chosen.values())


def _example(predictor: Predictor, evaluation: Evaluation, row: int) -> list[Element]:
    """Return one question, its top answer, a true answer, and the evidence for both."""
    queries, true = evaluation.queries, int(evaluation.answers[row])
    question = EncodedQuestion(int(queries.subject[row]), int(queries.relation[row]), int(queries.time[row]))
    (forecast,) = predictor.forecasts(predictor.score([question]), top=1, explain=MAX_EVIDENCE)
    heading = el("h3", forecast.question)
    name = predictor.vocabulary.entities[true]
    if not forecast.answers:
        return [heading, el("p", f"No answer. A true answer is {name}.")]
    top = forecast.answers[0]
    words = f"Answer: {top.entity}, with a probability of {top.probability:.1%}."
    if top.entity == name:
        return [heading, el("p", words), *_evidence(forecast, top)]
    words += f" A true answer is {name}, at filtered rank {evaluation.ranks_under()[row]:,.0f}."
    parts = [heading, el("p", words), *_evidence(forecast, top)]
    try:
        parts += _evidence(forecast, predictor.explain(question, true, MAX_EVIDENCE))
    except TiterError:
        parts.append(el("p", f"No earlier fact supports {name}.", class_="note"))
    return parts


def _evidence(forecast: Forecast, answer: Answer) -> list[Element]:
    """Return the evidence for an answer as a picture and in words."""
    lines = evidence_lines(answer.reasons)
    if not lines:
        return []
    picture = draw_evidence(forecast, answer)
    return [
        el("p", f"Evidence for {answer.entity}:", class_="note"),
        *([el("figure", picture)] if picture is not None else []),
        el("ul", *(el("li", f"{share:.0%}: {words}") for share, words in lines)),
        el("p", SHARES, class_="note"),
    ]
