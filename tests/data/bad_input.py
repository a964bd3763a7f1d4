"""What tests of bad input share."""

from pathlib import Path

from typer.testing import Result

from commands import invoke
from data.samples import write_table
from titer.data.readers.rejections import Rejections
from titer.data.readers.tables import Table, TableOptions, read_tables

HEADER = "subject,relation,object,time\n"
GOOD = "Ada,visit,Ben,2018-10-01\nBen,visit,Ada,2018-10-02\nAda,visit,Ben,2018-10-03\n"
JSON_ROW = '{"subject": "Ada", "relation": "visit", "object": "Ben", "time": "2018-10-01"}\n'


def run_import(*words: str | Path) -> Result:
    return invoke("data", "import", *words)


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def read(path: Path, names: list[str] | None = None, rejections: Rejections | None = None) -> Table:
    return read_tables([path], TableOptions(names=names), Rejections() if rejections is None else rejections)


def write_good(folder: Path) -> Path:
    return write_table(folder / "facts.csv", [("Ada", "visit", "Ben", f"2018-10-0{day}") for day in range(1, 6)])
