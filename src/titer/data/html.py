"""HTML of a dataset, for notebooks."""

from itertools import islice
from xml.etree.ElementTree import Element

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.drawing.elements import el, table
from titer.drawing.notebook import notebook_html

NUM_EXAMPLES = 3


def dataset_html(dataset: Dataset) -> str:
    """Return the name, the sizes of the splits, the time range and a few example facts as HTML."""
    vocabulary, axis = dataset.vocabulary, dataset.axis
    counts = f"{vocabulary.sizes}, time unit: {axis.unit}"
    return notebook_html(
        el("h4", dataset.name),
        el("p", counts),
        table(["split", "facts", "from", "to"], [_split_row(dataset, name) for name in dataset.splits]),
        el("p", "Example facts of the training split:"),
        table(["subject", "relation", "object", "time"], _examples(dataset), numbers_from=4),
    )


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
