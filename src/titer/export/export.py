"""Write an export in one of the formats."""

from collections.abc import Callable
from pathlib import Path

from titer.errors import ConfigError
from titer.export.content import ExportContent
from titer.export.neo4j import write_neo4j
from titer.export.rdf import write_rdf
from titer.export.tables import write_csv, write_parquet, write_pykeen
from titer.files import atomic_directory, write_json
from titer.suggestions import hint

FORMATS: dict[str, Callable[[ExportContent, Path], str]] = {
    "pykeen": write_pykeen,
    "csv": write_csv,
    "parquet": write_parquet,
    "neo4j": write_neo4j,
    "rdf": write_rdf,
}
"""What writes each format, and returns the command that imports the facts again."""


def check_format(name: str) -> None:
    """Raise an error if there is no such format.

    Args:
        name: The name of the format.

    Raises:
        ConfigError: If the format is unknown.
    """
    if name not in FORMATS:
        raise ConfigError(f"unknown --format {name!r}{hint(name, list(FORMATS))}")


def write_export(content: ExportContent, name: str, folder: Path, *, overwrite: bool = False) -> str:
    """Write an export as a folder, completely or not at all.

    Args:
        content: What to export.
        name: ``pykeen``, ``csv``, ``parquet``, ``neo4j`` or ``rdf``.
        folder: The folder to create.
        overwrite: Replace the folder if it exists.

    Returns:
        The command that imports the facts again, to be run in the folder. It is also in ``provenance.json``.

    Raises:
        ConfigError: If the format is unknown.
        TiterError: If the folder exists and ``overwrite`` is not set.
    """
    check_format(name)
    with atomic_directory(folder, overwrite=overwrite) as temporary:
        command = FORMATS[name](content, temporary)
        write_json(temporary / "provenance.json", {**content.provenance, "import": command})
    return command
