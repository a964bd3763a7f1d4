"""Readers of graph exports: rows are nodes or edges, and edges name their nodes by id."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from titer.data.readers.json_lines import JsonLines, JsonRow

NAME_KEYS = ("name", "title", "label", "fullName", "full_name", "id")
"""Properties that can be the name of a node, the best first."""


class GraphFile(JsonLines, ABC):
    """Edges of a graph as rows, with the names of their nodes.

    Args:
        path: The file.
        nodes: The names of nodes by their ids. Nodes of all files must be collected before edges are read.
    """

    def __init__(self, path: Path, nodes: dict[str, str]):
        super().__init__(path)
        self.nodes = nodes

    def collect_nodes(self) -> bool:
        """Read the names of all nodes, and return whether there is anything else in the file."""
        others = False
        for row in super()._read_rows():
            if row.record is not None and not self.is_edge(row.record):
                self.add_node(row.record)
            else:
                others = others or not row.is_blank
        return others

    def _read_rows(self) -> Iterator[JsonRow]:
        for row in super()._read_rows():
            if row.record is None:
                yield row
            elif self.is_edge(row.record):
                yield JsonRow(row.number, row.text, self.edge(row.record))

    @abstractmethod
    def is_edge(self, record: dict[str, Any]) -> bool:
        """Return whether a row is an edge."""

    @abstractmethod
    def add_node(self, record: dict[str, Any]) -> None:
        """Record the name of a node."""

    @abstractmethod
    def edge(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return an edge as a flat row with the names of its nodes."""


class GraphitiFile(GraphFile):
    """Entity edges and entity nodes of Graphiti, as their ``model_dump`` writes them."""

    def is_edge(self, record: dict[str, Any]) -> bool:
        """Return whether a row is an edge."""
        return "source_node_uuid" in record

    def add_node(self, record: dict[str, Any]) -> None:
        """Record the name of a node."""
        if "uuid" in record:
            self.nodes[str(record["uuid"])] = str(record.get("name") or record["uuid"])

    def edge(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return an edge with the names of its nodes; those without a node keep their id."""
        ends = {
            f"{end}_node_name": self.nodes.get(str(uuid := record.get(f"{end}_node_uuid")), uuid)
            for end in ("source", "target")
        }
        return {**record, **ends}


class Neo4jFile(GraphFile):
    """JSON lines of ``apoc.export.json``: nodes and relationships."""

    def is_edge(self, record: dict[str, Any]) -> bool:
        """Return whether a row is a relationship."""
        return record.get("type") == "relationship"

    def add_node(self, record: dict[str, Any]) -> None:
        """Record the name of a node."""
        if record.get("type") == "node" and (name := _name(record.get("properties"))) is not None:
            self.nodes[str(record.get("id"))] = name

    def edge(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return a relationship with its properties as columns, and the names of its nodes."""
        row: dict[str, Any] = {"relationship": record.get("label"), **(record.get("properties") or {})}
        for end in ("start", "end"):
            node = record.get(end) or {}
            number = str(node.get("id"))
            row[f"{end}_node"] = _name(node.get("properties")) or self.nodes.get(number) or number
        return row


def _name(properties: dict[str, Any] | None) -> str | None:
    found = (properties or {}).get
    return next((str(found(key)) for key in NAME_KEYS if found(key) not in (None, "")), None)


GRAPHS: dict[str, type[GraphFile]] = {"graphiti": GraphitiFile, "neo4j": Neo4jFile}
