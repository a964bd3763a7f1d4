"""Reader of dated facts in RDF: reified statements with a time, as ``titer export --format rdf`` writes them."""

import io
import re
from collections.abc import Iterator
from urllib.parse import unquote

import pyarrow as pa

from titer.data.readers.json_lines import MAX_LINE, JsonLines, JsonRow
from titer.errors import DataError

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TERMS = "urn:titer:terms:"
SUBJECT, PREDICATE, OBJECT = (f"<{RDF}{part}>" for part in ("subject", "predicate", "object"))
STATEMENT, TYPE, TIME = f"<{RDF}Statement>", f"<{RDF}type>", f"<{TERMS}time>"
PARTS = {SUBJECT: "subject", PREDICATE: "relation", OBJECT: "object", TIME: "time"}
QUAD = re.compile(
    r'(?P<about><[^>]*>|_:\S+) (?P<term><[^>]*>) (?P<value><[^>]*>|_:\S+|"(?:[^"\\]|\\.)*"\S*) ?(?:<[^>]*> )?\.\s*'
)


class NQuads(JsonLines):
    """A file of N-Quads or N-Triples. The quads of one ``rdf:Statement`` must follow each other.

    Statements of other types, such as forecasts, are no facts, and are left out.
    """

    def _read_rows(self) -> Iterator[JsonRow]:
        about, record, is_fact, first = "", dict[str, str](), False, 1
        with pa.input_stream(str(self.path), compression="detect") as stream:
            lines = io.BufferedReader(stream)
            for number, line in enumerate(iter(lambda: lines.readline(MAX_LINE + 1), b""), start=1):
                if len(line) > MAX_LINE:
                    raise DataError(f"{self.name}, row {number}: the line is longer than {MAX_LINE:,} bytes")
                text = line.decode("utf-8", "replace").strip()
                if not text or text.startswith("#"):
                    continue
                found = QUAD.fullmatch(text)
                if found is None:
                    yield JsonRow(number, text, None, "not a quad")
                    continue
                if found["about"] != about:
                    if is_fact:
                        yield _row(first, about, record)
                    about, record, is_fact, first = found["about"], {}, False, number
                is_fact = is_fact or (found["term"] == TYPE and found["value"] == STATEMENT)
                if part := PARTS.get(found["term"]):
                    record[part] = _name(found["value"])
        if is_fact:
            yield _row(first, about, record)


def _row(number: int, about: str, record: dict[str, str]) -> JsonRow:
    missing = [part for part in PARTS.values() if part not in record]
    if missing:
        return JsonRow(number, about, None, f"the statement has no {', '.join(missing)}")
    return JsonRow(number, about, dict(record))


def _name(value: str) -> str:
    """Return the last part of an IRI, or the text of a literal."""
    if value.startswith("<"):
        return unquote(re.split(r"[/#:]", value[1:-1])[-1])
    return value[1 : value.rindex('"')] if value.startswith('"') else value
