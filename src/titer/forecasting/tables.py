"""Forecasts as Arrow tables and pandas data frames: one row for every answer."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from titer.extras import missing
from titer.forecasting.forecast import NO_ANSWER, Forecast, Reason, Unanswered

if TYPE_CHECKING:
    import pandas as pd

NUM_ROWS = 1 << 14
"""Rows in a batch, unless a single question has more answers."""
NUMBERS = pa.list_(pa.struct([("name", pa.string()), ("value", pa.float64())]))
FACT = pa.struct([*((name, pa.string()) for name in ("subject", "relation", "object", "time")), ("numbers", NUMBERS)])
EVIDENCE = pa.list_(
    pa.struct([("share", pa.float64()), ("count", pa.int64()), ("text", pa.string()), ("facts", pa.list_(FACT))])
)
SCHEMA = pa.schema(
    [
        ("question", pa.int64()),  # number of the question, from 1
        ("subject", pa.string()),
        ("relation", pa.string()),
        ("object", pa.string()),
        ("time", pa.string()),
        ("ahead", pa.int64()),
        ("no_history", pa.bool_()),
        ("rank", pa.int64()),
        ("answer", pa.string()),
        ("score", pa.float64()),
        ("probability", pa.float64()),
        ("evidence", EVIDENCE),
        ("error", pa.string()),
    ]
)


def to_table(results: Iterable[Forecast | Unanswered]) -> pa.Table:
    """Return all results as one Arrow table.

    Args:
        results: Forecasts, and questions that could not be answered.

    Returns:
        A table with one row for every answer. A question without an answer has one row with the reason in ``error``.
    """
    return pa.Table.from_batches(record_batches(results), SCHEMA)


def as_pandas(table: pa.Table) -> "pd.DataFrame":
    """Return a table as a pandas data frame.

    Args:
        table: The table.

    Raises:
        MissingPackageError: pandas is not installed.
    """
    try:
        import_module("pandas")
    except ImportError:
        raise missing("a data frame", package="pandas") from None
    return table.to_pandas()


def record_batches(results: Iterable[Forecast | Unanswered], num_rows: int = NUM_ROWS) -> Iterator[pa.RecordBatch]:
    """Yield the rows of ``to_table`` in batches, for more results than fit into memory.

    Args:
        results: Forecasts and unanswered questions, in the order of the questions.
        num_rows: How many rows a batch has at least, except the last one.
    """
    rows: list[tuple[Any, ...]] = []
    for number, result in enumerate(results, start=1):
        rows += _rows(number, result)
        if len(rows) >= num_rows:
            yield _batch(rows)
            rows = []
    if rows:
        yield _batch(rows)


def _batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _rows(number: int, result: Forecast | Unanswered) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of one result, in the order of the columns."""
    if isinstance(result, Unanswered):
        yield (number, result.subject, result.relation, result.object, result.time, *[None] * 7, result.error)
        return
    about = (number, result.subject, result.relation, result.object, result.time, result.ahead, result.no_history)
    for answer in result.answers:
        evidence = [_evidence(reason) for reason in answer.reasons]
        yield (*about, answer.rank, answer.entity, answer.score, answer.probability, evidence, None)
    if not result.answers:
        yield (*about, *[None] * 5, NO_ANSWER)


def _evidence(reason: Reason) -> dict[str, Any]:
    facts = [
        {
            **{name: getattr(fact, name) for name in ("subject", "relation", "object", "time")},
            "numbers": [{"name": name, "value": value} for name, value in fact.numbers.items()],
        }
        for fact in reason.facts
    ]
    return {"share": reason.share, "count": reason.count, "text": str(reason), "facts": facts}
