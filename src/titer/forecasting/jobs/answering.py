"""From a table of questions to rows of answers."""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from titer.forecasting.forecaster import Forecaster
from titer.forecasting.jobs.tasks import Task
from titer.forecasting.question_files import OWN, questions_of


def answer_table(
    task: Task, forecaster: Forecaster, questions: pa.Table, progress: Callable[[], object] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the answers to a table of questions, with the user's own columns beside them.

    Args:
        task: What to ask.
        forecaster: The model and the facts.
        questions: The questions: ``QUESTION_ROWS``, ``question`` and ``file`` if they have these, and ``own``.
        progress: Called after each question.
    """
    schema = answer_schema(task, questions.schema)
    columns = {name: questions.column(name).combine_chunks() for name in _places(questions.schema)}
    own = questions.column(OWN).combine_chunks().flatten() if OWN in questions.column_names else []
    results = task.results(forecaster, questions_of(questions))
    for batch in task.batches(_followed(results, progress) if progress else results):
        place = pc.call_function("subtract", [batch.column("question"), 1])
        arrays = [column.take(place) for column in columns.values()]
        arrays += [batch.column(name) for name in task.schema.names if name != "question"]
        arrays += [column.take(place) for column in own]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _followed(results: Iterator[Any], progress: Callable[[], object]) -> Iterator[Any]:
    for result in results:
        yield result
        progress()


def answer_schema(task: Task, questions: pa.Schema) -> pa.Schema:
    """Return the columns of the answers to a table of questions.

    An own column with the name of another one gets the prefix ``input_``.

    Args:
        task: What to ask.
        questions: The columns of the table of questions.
    """
    fields = [questions.field(name) for name in _places(questions)]
    fields += [field for field in task.schema if field.name != "question"]
    taken = {field.name for field in fields} | {"question"}
    for field in questions.field(OWN).type if OWN in questions.names else ():
        name = field.name
        while name in taken:
            name = f"input_{name}"
        taken.add(name)
        fields.append(pa.field(name, field.type))
    return pa.schema(fields)


def _places(questions: pa.Schema) -> list[str]:
    """Return the columns that say which row a question comes from; a table in memory has no numbered questions."""
    if "question" not in questions.names:
        return []
    return [name for name in ("question", "file", "row") if name in questions.names]
