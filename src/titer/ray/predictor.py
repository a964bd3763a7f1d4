"""Answers to batches of questions, for ``ray.data.Dataset.map_batches``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from titer.errors import ConfigError
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.jobs.answering import answer_schema, answer_table
from titer.forecasting.jobs.tasks import AnswerTask, EventsTask, LikelyTask, Task, WhenTask
from titer.forecasting.question_files import QUESTION_ROWS, QuestionFile
from titer.suggestions import hint

TASKS: dict[str, type[Task]] = {task.name: task for task in (AnswerTask, EventsTask, LikelyTask, WhenTask)}


class RayPredictor:
    """A run that answers batches of questions: load once, call often. Needs no Ray itself.

    A batch has the columns ``relation``, ``subject`` or ``object`` or both, and optionally ``time``. What a question
    asks for is missing, empty or ``?``. All other columns are copied to every answer. Only facts before the time of a
    question are used.

    Example:
        >>> import ray
        >>> from titer.ray import Predictor
        >>> questions = ray.data.read_parquet("s3://bucket/questions")
        >>> answers = questions.map_batches(
        ...     Predictor, fn_constructor_args=["runs/icews14"], concurrency=8, batch_size=4096, batch_format="pyarrow"
        ... )
        >>> answers.write_parquet("s3://bucket/answers")

    Attributes:
        forecaster: The loaded run.
        task: What is asked of every question.
    """

    def __init__(
        self,
        run: str | Path,
        task: str = "forecast",
        *,
        device: str = "auto",
        store: str | Path | None = None,
        **options: Any,
    ):
        """Load a run.

        Args:
            run: The run directory, on every node.
            task: ``"forecast"``, ``"events"``, ``"likely"`` or ``"when"``: the command that answers such questions.
            device: ``"cpu"``, ``"cuda"``, or ``"auto"`` for a GPU if Ray gave one to the worker.
            store: Database of added facts; None for that of the run directory.
            **options: The options of the task, such as ``top`` and ``explain``, as the methods of ``Forecaster`` take
                them.

        Raises:
            ConfigError: The task or an option does not exist.
            RunError: The directory is not a run, or is incomplete.
        """
        if task not in TASKS:
            raise ConfigError(f"unknown task {task!r}{hint(task, list(TASKS))}")
        try:
            self.task = TASKS[task](**options)
        except TypeError as error:
            raise ConfigError(f"task {task!r}: {str(error).partition(') ')[2] or error}") from None
        self.forecaster = Forecaster.load(run, device, store)
        if self.task.needs_events:
            self.forecaster.prepare_events()

    def __call__(self, batch: pa.Table | Mapping[str, NDArray[Any]]) -> pa.Table:
        """Answer a batch of questions.

        Args:
            batch: An Arrow table, or a dictionary of numpy arrays.

        Returns:
            A table with one row for every answer: the columns of a file of answers, and the other columns of the batch.
            A question that cannot be answered has one row with the reason in ``error``.

        Raises:
            DataError: A column is missing.
        """
        table = batch if isinstance(batch, pa.Table) else _as_table(batch)
        # Ray calls with an empty batch to learn the columns of the result.
        file = QuestionFile(table, self.forecaster.dataset.mapping, "the batch")
        found = [rows for questions in file.tables() for rows in answer_table(self.task, self.forecaster, questions)]
        own = [pa.field("own", pa.struct(list(file.own)))] if len(file.own) else []
        return pa.Table.from_batches(found, answer_schema(self.task, pa.schema([*QUESTION_ROWS, *own])))


def _as_table(batch: Mapping[str, NDArray[Any]]) -> pa.Table:
    return pa.table({name: pa.array(list(column) if column.ndim > 1 else column) for name, column in batch.items()})
