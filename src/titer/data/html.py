"""HTML of a dataset, for notebooks."""

from itertools import islice
from xml.etree.ElementTree import Element, tostring

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.drawing.elements import el, table

NUM_EXAMPLES = 3


def dataset_html(dataset: Dataset) -> str:
    """Return the name, the sizes of the splits, the time range and a few example facts as HTML."""
    vocabulary, axis = dataset.vocabulary, dataset.axis
    counts = f"{vocabulary.sizes}, time unit: {axis.unit}"
    page = el(
        "div",
        el("p", el("strong", dataset.name), f": {counts}"),
        table(["split", "facts", "from", "to"], [_split_row(dataset, name) for name in dataset.splits]),
        el("p", "Example facts of the training split:"),
        table(["subject", "relation", "object", "time"], _examples(dataset), numbers_from=4),
    )
    return tostring(page, encoding="unicode", method="html")


def _split_row(dataset: Dataset, name: str) -> list[Element | str]:
    facts = dataset.splits[name]
    return [name, f"{len(facts):,}", *_time_range(dataset, facts)]


def _time_range(dataset: Dataset, facts: Facts) -> tuple[str, str]:
    if len(facts) == 0:
        return "-", "-"
    return dataset.axis.label(int(facts.time.min())), dataset.axis.label(int(facts.time.max()))


def _examples(dataset: Dataset) -> list[list[Element | str]]:
    entities, relations = dataset.vocabulary.entities, dataset.vocabulary.relations
    return [
        [entities[subject], relations[relation], entities[object], dataset.axis.words(time)]
        for subject, relation, object, time in islice(dataset.train[:NUM_EXAMPLES], NUM_EXAMPLES)
    ]
