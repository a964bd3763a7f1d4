"""Exports as RDF 1.1: N-Quads with named graphs for facts, for forecasts, and for their provenance (PROV-O)."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from titer.data.readers.nquads import OBJECT, PREDICATE, RDF, STATEMENT, SUBJECT, TERMS, TIME
from titer.data.time_unit import TimeUnit
from titer.export.content import ExportContent, import_command, key_of

PROV, RDFS, XSD = (
    "http://www.w3.org/ns/prov#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2001/XMLSchema#",
)
DATATYPES = {
    TimeUnit.HOUR: "dateTime",
    TimeUnit.DAY: "date",
    TimeUnit.WEEK: "date",
    TimeUnit.MONTH: "gYearMonth",
    TimeUnit.YEAR: "gYear",
    TimeUnit.INTEGER: "integer",
}
"""The XML Schema type of the dates of each time unit; quarters have none, so they are strings."""

VOCABULARY = f"""@prefix titer: <{TERMS}> .
@prefix rdf: <{RDF}> .
@prefix rdfs: <{RDFS}> .
@prefix prov: <{PROV}> .

titer:Forecast a rdfs:Class ; rdfs:subClassOf rdf:Statement, prov:Entity ;
    rdfs:comment "A statement that a model gives a probability. It is not asserted." .
titer:Evidence a rdfs:Class ; rdfs:subClassOf rdf:Seq, prov:Entity ;
    rdfs:comment "A path of facts, in the order of its hops, that supports a forecast." .
titer:time a rdf:Property ; rdfs:domain rdf:Statement ; rdfs:comment "When a statement is true." .
titer:split a rdf:Property ; rdfs:domain rdf:Statement ; rdfs:comment "train, valid, test, or added." .
titer:question a rdf:Property ; rdfs:domain titer:Forecast ; rdfs:comment "Number of the question, from 1." .
titer:asks a rdf:Property ; rdfs:domain titer:Forecast ; rdfs:comment "What the question asks for: subject or object." .
titer:rank a rdf:Property ; rdfs:domain titer:Forecast ; rdfs:comment "Rank of the answer, from 1." .
titer:score a rdf:Property ; rdfs:domain titer:Forecast ; rdfs:comment "Score of the model; higher is better." .
titer:probability a rdf:Property ; rdfs:domain titer:Forecast ; rdfs:comment "Calibrated probability of the answer." .
titer:evidence a rdf:Property ; rdfs:domain titer:Forecast ; rdfs:range titer:Evidence .
titer:share a rdf:Property ; rdfs:domain titer:Evidence ;
    rdfs:comment "Share of the weight of the answer, between 0 and 1." .
titer:count a rdf:Property ; rdfs:domain titer:Evidence ; rdfs:comment "Number of paths that differ only in dates." .
titer:sha256 a rdf:Property ; rdfs:comment "SHA-256 of the weights of a model, or checksum of a dataset." .
titer:version a rdf:Property ; rdfs:comment "Version of titer, or commit of its sources." .
"""


def write_rdf(content: ExportContent, folder: Path) -> str:
    """Write ``export.nq``, and the meaning of its own terms as ``vocabulary.ttl``."""
    with (folder / "export.nq").open("w", encoding="ascii", newline="") as file:
        for line in _Quads(content).lines():
            file.write(line)
    (folder / "vocabulary.ttl").write_text(VOCABULARY, encoding="utf-8")
    return import_command(content.dataset, "export.nq")


class _Quads:
    """The lines of an export."""

    def __init__(self, content: ExportContent):
        self.content = content
        # Parts of an IRI are separated as the base ends: with a slash in https://example.org/, else with a colon.
        self.base, self.separator = content.base, "/" if content.base.endswith("/") else ":"
        self.datatype = DATATYPES.get(content.dataset.axis.unit, "string")

    def lines(self) -> Iterator[str]:
        """Yield all quads, those of one statement together."""
        yield from self._provenance()
        dataset = self._resource("dataset")
        for fact in self.content.exported_facts():
            about = self._resource("fact", fact.number)
            triple = self._triple(fact.subject, fact.relation, fact.object)
            yield self._quad(*triple, graph="facts")
            yield from self._statement(about, STATEMENT, triple, fact.time, "facts")
            yield self._quad(about, _iri(TERMS, "split"), _text(fact.split), graph="facts")
            yield self._quad(about, _iri(PROV, "wasDerivedFrom"), dataset, graph="facts")
        yield from self._forecasts()
        yield from self._labels()

    def _forecasts(self) -> Iterator[str]:
        numbers = self.content.numbers_of_evidence()
        for p in self.content.predictions():
            about = self._resource("forecast", p.name)
            triple = self._triple(p.subject, p.relation, p.object)
            yield from self._statement(about, f"<{TERMS}Forecast>", triple, p.time, "forecasts")
            for name, value in (
                ("question", _typed(str(p.question), "integer")),
                ("asks", _text(p.asks)),
                ("rank", _typed(str(p.rank), "integer")),
                ("score", _typed(repr(p.score), "double")),
                ("probability", _typed(repr(p.probability), "double")),
            ):
                yield self._quad(about, _iri(TERMS, name), value, graph="forecasts")
            yield self._quad(about, _iri(PROV, "wasGeneratedBy"), self._resource("forecasting"), graph="forecasts")
            for place, reason in enumerate(p.reasons, start=1):
                evidence = self._resource("evidence", f"{p.name}-{place}")
                yield self._quad(about, _iri(TERMS, "evidence"), evidence, graph="forecasts")
                yield self._quad(evidence, _iri(RDF, "type"), _iri(TERMS, "Evidence"), graph="forecasts")
                yield self._quad(evidence, _iri(RDFS, "label"), _text(reason.text), graph="forecasts")
                yield self._quad(
                    evidence, _iri(TERMS, "share"), _typed(repr(reason.share), "double"), graph="forecasts"
                )
                yield self._quad(
                    evidence, _iri(TERMS, "count"), _typed(str(reason.count), "integer"), graph="forecasts"
                )
                for hop, fact in enumerate(reason.facts, start=1):
                    if (number := numbers.get(key_of(fact))) is not None:
                        of = self._resource("fact", number)
                        yield self._quad(evidence, _iri(RDF, f"_{hop}"), of, graph="forecasts")
                        yield self._quad(about, _iri(PROV, "wasDerivedFrom"), of, graph="forecasts")

    def _provenance(self) -> Iterator[str]:
        known = self.content.provenance
        dataset, model, activity, agent = map(self._resource, ("dataset", "model", "forecasting", "titer"))
        version = known["titer"] if known["commit"] == "unknown" else f"{known['titer']} ({known['commit']})"
        for subject, predicate, value in (
            (dataset, _iri(RDF, "type"), _iri(PROV, "Entity")),
            (dataset, _iri(RDFS, "label"), _text(known["dataset"])),
            (dataset, _iri(TERMS, "sha256"), _text(known["dataset_checksum"])),
            (model, _iri(RDF, "type"), _iri(PROV, "Entity")),
            (model, _iri(RDFS, "label"), _text(known["model"])),
            (model, _iri(TERMS, "sha256"), _text(known["weights_sha256"])),
            (model, _iri(PROV, "wasDerivedFrom"), dataset),
            (activity, _iri(RDF, "type"), _iri(PROV, "Activity")),
            (activity, _iri(PROV, "used"), model),
            (activity, _iri(PROV, "used"), dataset),
            (activity, _iri(PROV, "endedAtTime"), _typed(known["created"], "dateTime")),
            (activity, _iri(PROV, "wasAssociatedWith"), agent),
            (agent, _iri(RDF, "type"), _iri(PROV, "SoftwareAgent")),
            (agent, _iri(TERMS, "version"), _text(version)),
        ):
            yield self._quad(subject, predicate, value, graph="provenance")

    def _labels(self) -> Iterator[str]:
        """Yield the names of entities and relations, each once."""
        for name in self.content.entity_names():
            yield self._quad(self._resource("entity", name), _iri(RDFS, "label"), _text(name), graph="facts")
        for name in self.content.facts["relation"].unique().to_pylist():
            yield self._quad(self._resource("relation", name), _iri(RDFS, "label"), _text(name), graph="facts")

    def _statement(self, about: str, kind: str, triple: tuple[str, str, str], time: str, graph: str) -> Iterator[str]:
        yield self._quad(about, _iri(RDF, "type"), kind, graph=graph)
        for predicate, value in zip((SUBJECT, PREDICATE, OBJECT), triple, strict=True):
            yield self._quad(about, predicate, value, graph=graph)
        # An XML date and time has a T and seconds.
        text = f"{time.replace(' ', 'T')}:00" if self.datatype == "dateTime" else time
        yield self._quad(about, TIME, _typed(text, self.datatype), graph=graph)

    def _triple(self, subject: str, relation: str, object: str) -> tuple[str, str, str]:
        return self._resource("entity", subject), self._resource("relation", relation), self._resource("entity", object)

    def _resource(self, kind: str, name: object = "") -> str:
        return f"<{self.base}{kind}{self.separator + _encoded(str(name)) if name != '' else ''}>"

    def _quad(self, subject: str, predicate: str, value: str, *, graph: str) -> str:
        return f"{subject} {predicate} {value} <{self.base}graph{self.separator}{graph}> .\n"


def _iri(namespace: str, name: str) -> str:
    return f"<{namespace}{name}>"


def _encoded(name: str) -> str:
    return quote(name, safe="")


def _typed(text: str, datatype: str) -> str:
    return f'"{text}"^^<{XSD}{datatype}>'


def _text(text: str) -> str:
    """Return a literal in ASCII, with every other character escaped."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(escapes.get(c, c) if c in escapes or " " <= c <= "~" else _escape(c) for c in text) + '"'


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
