"""New facts: compared with a search through all facts."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from strategies import random_facts
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.split import split_by_fraction
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.evaluation.evaluate import evaluate
from titer.evaluation.metrics import Metrics
from titer.evaluation.novelty import NEVER, last_occurrences
from titer.models.recurrency import Recurrency

rows = st.lists(st.tuples(*(st.integers(0, 2) for _ in range(3)), st.integers(-3, 4)), max_size=30)


@given(asked=rows, known=rows)
def test_the_last_occurrence_is_the_latest_equal_fact_strictly_before(asked: list, known: list):
    found = last_occurrences(Facts.from_rows(asked), Facts.from_rows(known)).tolist()
    expected = [
        max((t for s, r, o, t in known if (s, r, o) == fact[:3] and t < fact[3]), default=NEVER) for fact in asked
    ]
    assert found == expected


def test_groups_of_an_evaluation_agree_with_a_search():
    facts = random_facts(7, 500, 8, 3, 20)
    data = Dataset("random", Vocabulary.numbered(8, 3), TimeAxis(), *split_by_fraction(facts, (0.6, 0.2, 0.2)))
    found = evaluate(Recurrency(data.vocabulary, data.axis), data)
    known = list(data.facts)
    groups: dict[str, list[int]] = {"repeated": [], "new": [], "never_seen": []}
    for row, (s, r, o, t) in enumerate([*data.test, *data.test]):
        times = {time for *triple, time in known if tuple(triple) == (s, r, o) and time < t}
        groups["repeated" if t - 1 in times else "new"].append(row)
        if not times:
            groups["never_seen"].append(row)
    ranks = found.ranks_under()
    assert all(groups.values())
    assert found.by_novelty() == {name: Metrics.of(ranks[torch.tensor(part)]) for name, part in groups.items()}
    labels = [label for label, _ in found.rows()]
    assert {"not true at the step before", "never true before"} <= set(labels)


def test_a_dataset_whose_facts_never_repeat_has_no_row_for_new_facts():
    rows = [(i % 5, 0, (i + 1 + i // 5) % 5, 3 * i) for i in range(60)]
    data = Dataset(
        "gaps", Vocabulary.numbered(5, 1), TimeAxis(), *split_by_fraction(Facts.from_rows(rows), (0.6, 0.2, 0.2))
    )
    found = evaluate(Recurrency(data.vocabulary, data.axis), data)
    assert "repeated" not in found.by_novelty()
    assert "not true at the step before" not in [label for label, _ in found.rows()]
