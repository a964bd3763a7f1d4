"""Forecasts as Arrow tables: a row for every answer."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from titer.forecasting.forecast import NO_ANSWER, Forecast, Reason, Unanswered

ROWS = 1 << 14
"""Rows in a batch, unless a single question has more answers."""
FACT = pa.struct([(name, pa.string()) for name in ("subject", "relation", "object", "time")])
EVIDENCE = pa.list_(
    pa.struct([("share", pa.float64()), ("count", pa.int64()), ("text", pa.string()), ("facts", pa.list_(FACT))])
)
SCHEMA = pa.schema(
    [
        ("question", pa.int64()),  # its place among the questions, from 1
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
    """All results as one table. A question without an answer has one row, which says why."""
    return pa.Table.from_batches(record_batches(results), SCHEMA)


def record_batches(results: Iterable[Forecast | Unanswered], num_rows: int = ROWS) -> Iterator[pa.RecordBatch]:
    """The same in batches, so that there may be more results than memory."""
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
    """The rows of one result, in the order of the columns."""
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
    facts = [{name: getattr(fact, name) for name in ("subject", "relation", "object", "time")} for fact in reason.facts]
    return {"share": reason.share, "count": reason.count, "text": str(reason), "facts": facts}
