"""Event forecasts as Arrow tables and files: one row for every event, or for every step of ``when``."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from titer.forecasting.answer_files import write_batches
from titer.forecasting.events.render import no_event
from titer.forecasting.events.results import EventForecast, Likelihood, LikelyEvent, WhenForecast
from titer.forecasting.forecast import Reason, Unanswered
from titer.forecasting.tables import EVIDENCE, NUM_ROWS

AnyResult = EventForecast | Likelihood | WhenForecast | Unanswered
_EVENT = [
    ("question", pa.int64()),  # number of the question, from 1
    ("start", pa.string()),
    ("end", pa.string()),
    ("steps", pa.int64()),
    ("rank", pa.int64()),
    ("subject", pa.string()),
    ("relation", pa.string()),
    ("object", pa.string()),
    ("probability", pa.float64()),
    ("expected", pa.float64()),
    ("usual", pa.float64()),
    ("lift", pa.float64()),
    ("kind", pa.string()),
    ("rate", pa.string()),
    ("times", pa.int64()),
    ("last", pa.string()),
    ("causes", EVIDENCE),
    ("reasons", EVIDENCE),
    ("against", EVIDENCE),
    ("error", pa.string()),
]
_STEP = [
    *_EVENT[:4],
    *_EVENT[5:8],
    ("time", pa.string()),
    ("ahead", pa.int64()),
    ("first", pa.float64()),
    ("by", pa.float64()),
    ("survival", pa.float64()),
    ("probability", pa.float64()),
    ("usual", pa.float64()),
    ("kind", pa.string()),
    ("error", pa.string()),
]
EVENT_SCHEMA, STEP_SCHEMA = pa.schema(_EVENT), pa.schema(_STEP)
_OF_EVENT = (
    "rank",
    "subject",
    "relation",
    "object",
    "probability",
    "expected",
    "usual",
    "lift",
    "kind",
    "rate",
    "times",
)
_OF_STEP = ("time", "ahead", "first", "by", "survival", "probability", "usual")


def to_table(results: Iterable[Any]) -> pa.Table:
    """Return results of one kind of question as one Arrow table.

    Args:
        results: Results of ``events``, ``likely`` or ``when``, and questions that could not be answered.

    Returns:
        A table with one row for every event, or for every step of ``when``. A question that could not be answered has
        one row with the reason in ``error``.
    """
    found = list(results)
    schema = _schema(found)
    return pa.Table.from_batches(event_batches(found, schema), schema)


def event_batches(
    results: Iterable[AnyResult], schema: pa.Schema, num_rows: int = NUM_ROWS
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of ``to_table`` in batches, for more results than fit into memory.

    Args:
        results: As for ``to_table``, in the order of the questions.
        schema: ``STEP_SCHEMA`` for results of ``when``, otherwise ``EVENT_SCHEMA``.
        num_rows: How many rows a batch has at least, except the last one.
    """
    rows: list[dict[str, Any]] = []
    for number, result in enumerate(results, start=1):
        rows += _rows(number, result)
        if len(rows) >= num_rows:
            yield pa.RecordBatch.from_pylist(rows, schema)
            rows = []
    if rows:
        yield pa.RecordBatch.from_pylist(rows, schema)


def write_events(results: Iterable[Any], path: Path, *, overwrite: bool = False, raw_csv: bool = False) -> None:
    """Write results to a file: ``.csv``, ``.jsonl``, ``.ndjson`` or ``.parquet``. In CSV, evidence is JSON text.

    Args:
        results: As for ``to_table``.
        path: The file.
        overwrite: Whether to replace an existing file.
        raw_csv: Whether names in CSV files stay as they are, also those that a spreadsheet would run as formulas.

    Raises:
        TiterError: The format is unknown, or the file exists.
    """
    found = list(results)
    schema = _schema(found)
    write_batches(event_batches(found, schema), schema, path, overwrite=overwrite, raw_csv=raw_csv)


def _schema(results: list[Any]) -> pa.Schema:
    return STEP_SCHEMA if any(isinstance(result, WhenForecast) for result in results) else EVENT_SCHEMA


def _rows(number: int, result: AnyResult) -> Iterator[dict[str, Any]]:
    if isinstance(result, Unanswered):
        asked = {"subject": result.subject, "relation": result.relation, "object": result.object}
        yield {"question": number, **asked, "start": result.time, "error": result.error}
        return
    window = {"question": number, "start": result.start, "end": result.end, "steps": result.steps}
    match result:
        case WhenForecast(event=event):
            names = {"subject": event.subject, "relation": event.relation, "object": event.object, "kind": event.kind}
            for step in result.curve:
                yield {**window, **names, **{name: getattr(step, name) for name in _OF_STEP}}
        case Likelihood(event=event):
            yield {**window, **_event(event)}
        case EventForecast(events=events):
            for event in events:
                yield {**window, **_event(event)}
            if not events:
                asked = {"subject": result.subject, "relation": result.relation, "object": result.object}
                yield {**window, **asked, "error": no_event(result)}


def _event(event: LikelyEvent) -> dict[str, Any]:
    return {
        **{name: getattr(event, name) for name in _OF_EVENT},
        "last": event.last.time if event.last else None,
        "causes": [_evidence(reason) for reason in event.causes],
        "reasons": [_evidence(reason) for reason in event.reasons],
        "against": [_evidence(reason) for reason in event.against],
    }


def _evidence(reason: Reason) -> dict[str, Any]:
    facts = [{name: getattr(fact, name) for name in ("subject", "relation", "object", "time")} for fact in reason.facts]
    return {"share": reason.share, "count": reason.count, "text": str(reason), "facts": facts}
