"""How later files of a dataset are read: as the dataset was imported, unless options say otherwise."""

from dataclasses import fields, replace

from titer.data.dataset import Dataset
from titer.data.readers.options import TableOptions


def continued(dataset: Dataset, given: TableOptions | None = None) -> TableOptions:
    """Return the options for files that continue a dataset.

    Args:
        dataset: The dataset.
        given: Options for these files; they take precedence over those of the import.
    """
    given = given or TableOptions()
    if dataset.mapping is None:
        return given
    mapping = replace(dataset.mapping, unit=None, earliest=None, latest=None, attributes=[])
    kept = {part: column for part, column in mapping.columns.items() if part != "weight"}
    columns = {part: text for part, text in kept.items() if part not in given.constants} | given.columns
    constants = {part: text for part, text in mapping.constants.items() if part not in given.columns} | given.constants
    if "time" in {**given.columns, **given.constants}:
        columns = {
            part: text for part, text in columns.items() if part not in ("start", "end") or part in given.columns
        }
    nothing = TableOptions()
    set_here = {
        item.name: getattr(given, item.name)
        for item in fields(TableOptions)
        if getattr(given, item.name) != getattr(nothing, item.name)
    }
    return replace(mapping, **{**set_here, "columns": columns, "constants": constants})
