"""A dataset with the facts that were added to it."""

from dataclasses import replace

import pyarrow as pa

from titer.data.attributes import Attributes
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.store.facts import FactStore


def merged_dataset(store: FactStore) -> tuple[Dataset, int]:
    """Return the dataset of a fact store with all added facts at the end of its test split.

    Entities get the same ids as in ``LiveHistory``: those of the dataset keep theirs, others follow in the order in
    which they were added.

    Args:
        store: The fact store.

    Returns:
        The dataset, and the number of added facts.

    Raises:
        StoreError: If the database cannot be used, or is damaged.
    """
    dataset, added = store.dataset, [stored.fact for stored in store.since(0)]
    if not added:
        return dataset, 0
    known = dataset.vocabulary
    names = dict.fromkeys(name for fact in added for name in (fact.subject, fact.object))
    vocabulary = Vocabulary(
        [*known.entities, *(name for name in names if name not in known.entity_ids)], known.relations
    )
    entities, relations = vocabulary.entity_ids, vocabulary.relation_ids
    rows = [(entities[fact.subject], relations[fact.relation], entities[fact.object], fact.step) for fact in added]
    test = Facts.concatenate(dataset.test, Facts.from_rows(rows))
    attributes = _without_values(dataset.attributes, len(rows)) if dataset.attributes is not None else None
    return replace(dataset, vocabulary=vocabulary, test=test, attributes=attributes), len(rows)


def _without_values(attributes: Attributes, num_facts: int) -> Attributes:
    """Return attributes with empty values for facts at the end."""
    missing = pa.nulls(num_facts, pa.int32())
    return Attributes(
        {
            name: pa.DictionaryArray.from_arrays(
                pa.concat_arrays([column.indices.cast(pa.int32()), missing]), column.dictionary
            )
            for name, column in attributes.columns.items()
        }
    )
