"""Rank the true answers of a split by the scores of a model."""

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import torch
from torch import Tensor

from titer.data.dataset import Dataset
from titer.evaluation.batching import scoring_batches
from titer.evaluation.calibration import Confidence, TopAnswers
from titer.evaluation.protocol import Protocol
from titer.evaluation.ranks import Ranking, Ranks
from titer.evaluation.result import Evaluation
from titer.evaluation.task import EvaluationTask
from titer.graph.queries import Queries
from titer.models.base import Model, check_scores, evaluating
from titer.models.common.weight_cache import own_caches
from titer.models.scores import ScoreBlock
from titer.parallel.in_threads import in_threads
from titer.parallel.parts import part_of_batches
from titer.parallel.processes import size as num_processes
from titer.parallel.processes import sum_over_processes
from titer.progress import track
from titer.threads import side_by_side

__all__ = ["Evaluation", "evaluate", "evaluate_task"]


def evaluate(
    model: Model,
    dataset: Dataset,
    split: str = "test",
    protocol: Protocol | None = None,
    *,
    batch_size: int | None = None,
    quiet: bool = False,
) -> Evaluation:
    """Evaluate a model on a split: ask for the object and for the subject of every fact, and rank the true answers.

    Args:
        model: The model to evaluate. It keeps its training or evaluation mode.
        dataset: The dataset that contains the split.
        split: ``train``, ``valid`` or ``test``.
        protocol: Filter, tie rule, rule for unreachable answers and history; the default is the convention
            ``realistic``.
        batch_size: Queries to score together; by default what suits the model's device.
        quiet: Draw no progress bar, even on a terminal.

    Returns:
        The ranks of all queries, with metrics, breakdowns and calibration.

    Raises:
        DataError: If the split is unknown or empty.
        TiterError: If the model returns NaN scores, or the protocol's frozen history would include the split.
    """
    started = time.perf_counter()
    task = EvaluationTask(dataset, split, protocol, model.device)
    found = evaluate_task(model, task, batch_size=batch_size, quiet=quiet)
    return replace(found, seconds=time.perf_counter() - started)


@torch.inference_mode()
def evaluate_task(
    model: Model, task: EvaluationTask, *, batch_size: int | None = None, quiet: bool = False
) -> Evaluation:
    """Evaluate a model on a prepared split. Several processes divide the batches, and all return the whole result.

    On a CPU, threads of a single process divide them, if the model allows it and cores are free (``side_by_side``).

    Args:
        model: The model to evaluate, on the device of the task.
        task: The split, prepared once for any number of evaluations.
        batch_size: Queries to score together; by default what suits the model's device.
        quiet: Draw no progress bar, even on a terminal.

    Returns:
        The same as ``evaluate``; its ``seconds`` do not include preparing the split.

    Raises:
        TiterError: If the model returns NaN scores.
    """
    started = time.perf_counter()
    queries, answers = task.queries, task.answers
    # Allocated beforehand: small results kept between large score matrices would fragment the memory.
    ranks = Ranks.empty(len(queries), task.dataset.vocabulary.num_entities)
    confidence = Confidence.empty(len(queries))
    batches = part_of_batches(scoring_batches(model, queries, batch_size))
    true_answers, true_at_time = task.true_answers, task.true_at_time

    @torch.inference_mode()
    def evaluate_batch(item: tuple[Tensor, Queries]) -> None:
        rows, batch = item
        batch, answer = batch.to(model.device), answers[rows].to(model.device)
        scores = model.scores(batch, task.history)
        ranking = Ranking(scores, answer, true_answers.of(batch))
        top = TopAnswers(scores, true_at_time.others(batch, answer))
        for block in scores.blocks():
            check_scores(model, block.values)
            ranking.add(block)
            top.add(ScoreBlock(block.start, model.logits(block.values)), model.temperature)
        ranks.put(rows, ranking.ranks())
        confidence.put(rows, top.confidence(answer))

    with evaluating(model), _threads(model) as number:
        done = in_threads(evaluate_batch, batches, number, own_caches)
        for _ in done if quiet else track(done, f"evaluating on {task.split}", len(batches)):
            pass
    # Each process leaves zeros for the queries of the others.
    for column in (ranks.better, ranks.equal, ranks.reached, confidence.probability, confidence.correct):
        sum_over_processes(column)
    return Evaluation(
        dataset=task.dataset,
        split=task.split,
        protocol=task.protocol,
        queries=queries,
        answers=answers,
        ranks=ranks,
        confidence=confidence,
        temperature=model.temperature,
        model=model.name,
        seconds=time.perf_counter() - started,
        sampled_from=task.num_queries if len(queries) < task.num_queries else None,
    )


def _threads(model: Model) -> AbstractContextManager[int]:
    """Enter a context in which as many threads as it yields divide the batches."""
    # Several processes have divided them already.
    is_alone = num_processes() == 1 and model.device.type == "cpu"
    return side_by_side(model.vocabulary.num_entities) if is_alone and model.scores_in_threads else nullcontext(1)
