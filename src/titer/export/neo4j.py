"""Exports for Neo4j: CSV files for ``neo4j-admin database import``, and a Cypher file that loads the same files."""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from titer.data.time_unit import TimeUnit
from titer.export.content import ExportContent, import_command, key_of

ENTITY, FORECAST, EVIDENCE = "Entity", "Forecast", "Evidence"
START, END = f":START_ID({ENTITY})", f":END_ID({ENTITY})"

RELATIONSHIPS = ("facts.csv", "forecast_entities.csv", "forecast_evidence.csv", "evidence_hops.csv")


def write_neo4j(content: ExportContent, folder: Path) -> str:
    """Write nodes for entities, forecasts and evidence, and relationships for facts and for what belongs together."""
    kind = {TimeUnit.DAY: "date", TimeUnit.WEEK: "date", TimeUnit.INTEGER: "long"}.get(
        content.dataset.axis.unit, "string"
    )
    names = ([name, ENTITY] for name in content.entity_names())
    _write(folder / "entities.csv", [f"name:ID({ENTITY})", ":LABEL"], names)
    _write(
        folder / "facts.csv",
        [START, ":TYPE", END, f"time:{kind}", "split", "fact:long"],
        ([f.subject, f.relation, f.object, f.time, f.split, f.number] for f in content.exported_facts()),
    )
    if content.forecasts:
        _write_forecasts(content, folder, kind)
    (folder / "load.cypher").write_text(_cypher(content, kind), encoding="utf-8")
    columns = [f"subject={START}", "relation=:TYPE", f"object={END}", f"time=time:{kind}"]
    return import_command(content.dataset, "facts.csv", *(word for column in columns for word in ("--column", column)))


def admin_command(content: ExportContent, database: str = "neo4j") -> str:
    """Return the command that makes a database of the files.

    Args:
        content: The content of the export.
        database: The name of the database.
    """
    nodes = ["entities.csv", *(["forecasts.csv", "evidence.csv"] if content.forecasts else [])]
    edges = [*RELATIONSHIPS] if content.forecasts else [RELATIONSHIPS[0]]
    files = [*(f"--nodes={name}" for name in nodes), *(f"--relationships={name}" for name in edges)]
    return f"neo4j-admin database import full {database} {' '.join(files)} --multiline-fields=true"


def _write_forecasts(content: ExportContent, folder: Path, kind: str) -> None:
    numbers = content.numbers_of_evidence()
    forecasts: list[list[Any]] = []
    entities: list[list[Any]] = []
    evidence: list[list[Any]] = []
    supports: list[list[Any]] = []
    hops: list[list[Any]] = []
    for p in content.predictions():
        forecasts.append([p.name, p.relation, p.time, p.asks, p.rank, p.score, p.probability, FORECAST])
        entities += [[p.name, "SUBJECT", p.subject], [p.name, "OBJECT", p.object]]
        for place, reason in enumerate(p.reasons, start=1):
            name = f"{p.name}-{place}"
            evidence.append([name, reason.text, reason.count, EVIDENCE])
            supports.append([p.name, "SUPPORTED_BY", name, reason.share])
            for hop, fact in enumerate(reason.facts, start=1):
                for role, entity in (("FROM", fact.subject), ("TO", fact.object)):
                    number = numbers.get(key_of(fact))
                    hops.append([name, role, entity, hop, number, fact.relation, fact.time])
    columns = [f"id:ID({FORECAST})", "relation", f"time:{kind}", "asks", "rank:long", "score:double"]
    _write(folder / "forecasts.csv", [*columns, "probability:double", ":LABEL"], forecasts)
    _write(folder / "forecast_entities.csv", [f":START_ID({FORECAST})", ":TYPE", END], entities)
    _write(folder / "evidence.csv", [f"id:ID({EVIDENCE})", "text", "count:long", ":LABEL"], evidence)
    ends = [f":START_ID({FORECAST})", ":TYPE", f":END_ID({EVIDENCE})", "share:double"]
    _write(folder / "forecast_evidence.csv", ends, supports)
    ends = [f":START_ID({EVIDENCE})", ":TYPE", END, "hop:long", "fact:long", "relation", f"time:{kind}"]
    _write(folder / "evidence_hops.csv", ends, hops)


def _write(path: Path, header: list[str], rows: Iterable[Iterable[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def _cypher(content: ExportContent, kind: str) -> str:
    about = "\n".join(f"// {key}: {value}" for key, value in content.provenance.items())
    when = {"date": "date(row.`time:date`)", "long": "toInteger(row.`time:long`)"}.get(kind, "row.`time:string`")
    comment = [
        "// Loads the CSV files of this folder into a running Neo4j (5.26 or later), for example with",
        "//     cypher-shell -f load.cypher",
        "// after copying them to its import folder. For an empty database, this is much faster:",
        f"//     {admin_command(content)}",
        about,
    ]
    parts = [
        "\n".join(comment),
        "CREATE CONSTRAINT entity_name IF NOT EXISTS FOR (e:Entity) REQUIRE e.name IS UNIQUE;",
        _load("entities.csv", "MERGE (:Entity {name: row.`name:ID(Entity)`})"),
        _load(
            "facts.csv",
            f"MATCH (s:Entity {{name: row.`{START}`}}), (o:Entity {{name: row.`{END}`}})",
            f"CREATE (s)-[:$(row.`:TYPE`) {{time: {when}, split: row.split, fact: toInteger(row.`fact:long`)}}]->(o)",
        ),
    ]
    if content.forecasts:
        parts += _cypher_of_forecasts(when)
    return "\n\n".join(parts) + "\n"


def _cypher_of_forecasts(when: str) -> list[str]:
    number = "toInteger(row.`{}:long`)".format
    return [
        "CREATE CONSTRAINT forecast_id IF NOT EXISTS FOR (f:Forecast) REQUIRE f.id IS UNIQUE;",
        "CREATE CONSTRAINT evidence_id IF NOT EXISTS FOR (e:Evidence) REQUIRE e.id IS UNIQUE;",
        _load(
            "forecasts.csv",
            f"CREATE (:Forecast {{id: row.`id:ID(Forecast)`, relation: row.relation, time: {when}, asks: row.asks, "
            f"rank: {number('rank')}, score: toFloat(row.`score:double`), "
            "probability: toFloat(row.`probability:double`)})",
        ),
        _load(
            "evidence.csv",
            f"CREATE (:Evidence {{id: row.`id:ID(Evidence)`, text: row.text, count: {number('count')}}})",
        ),
        _load(
            "forecast_entities.csv",
            f"MATCH (f:Forecast {{id: row.`:START_ID(Forecast)`}}), (e:Entity {{name: row.`{END}`}})",
            "CREATE (f)-[:$(row.`:TYPE`)]->(e)",
        ),
        _load(
            "forecast_evidence.csv",
            "MATCH (f:Forecast {id: row.`:START_ID(Forecast)`}), (e:Evidence {id: row.`:END_ID(Evidence)`})",
            "CREATE (f)-[:SUPPORTED_BY {share: toFloat(row.`share:double`)}]->(e)",
        ),
        _load(
            "evidence_hops.csv",
            f"MATCH (v:Evidence {{id: row.`:START_ID(Evidence)`}}), (e:Entity {{name: row.`{END}`}})",
            f"CREATE (v)-[:$(row.`:TYPE`) {{hop: {number('hop')}, fact: {number('fact')}, relation: row.relation, "
            f"time: {when}}}]->(e)",
        ),
    ]


def _load(name: str, *lines: str) -> str:
    body = "\n  ".join(lines)
    return (
        f"LOAD CSV WITH HEADERS FROM 'file:///{name}' AS row\n"
        f"CALL (row) {{\n  {body}\n}} IN TRANSACTIONS OF 10000 ROWS;"
    )
