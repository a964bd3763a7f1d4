"""How a dataset is shown at a prompt and in a notebook."""

import re

import pytest

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary

MARKUP = "<script>alert('x')</script> & <b>"


def dataset(name: str = "toy", entity: str = "Ada", relation: str = "visit") -> Dataset:
    return Dataset(
        name,
        Vocabulary([entity, "Ben", "Cleo"], [relation]),
        TimeAxis(TimeUnit.DAY, "2018-10-01"),
        Facts.from_rows([(0, 0, 1, step) for step in range(1234)]),
        Facts.from_rows([(1, 0, 2, 1234)]),
        Facts.empty(),
    )


def cells(html: str) -> list[str]:
    return re.findall(r"<td[^>]*>(.*?)</td>", html)


def test_the_text_has_the_sizes():
    assert repr(dataset()) == "Dataset('toy', train=1234, valid=1, test=0, entities=3, relations=1, unit='day')"


def test_the_html_has_sizes_dates_and_example_facts():
    html = dataset()._repr_html_()
    assert "<h4>toy</h4><p>3 entities, 1 relation, time unit: day</p>" in html
    assert cells(html) == [
        *("train", "1,234", "2018-10-01", "2022-02-15"),
        *("valid", "1", "2022-02-16", "2022-02-16"),
        *("test", "0", "-", "-"),
        *("Ada", "visit", "Ben", "1 Oct 2018"),
        *("Ada", "visit", "Ben", "2 Oct 2018"),
        *("Ada", "visit", "Ben", "3 Oct 2018"),
    ]


@pytest.mark.parametrize("part", ["name", "entity", "relation"])
def test_markup_in_names_is_escaped(part: str):
    html = dataset(**{part: MARKUP})._repr_html_()
    assert "&lt;script&gt;alert('x')&lt;/script&gt; &amp; &lt;b&gt;" in html
    assert "<script" not in html
    assert "<b>" not in html
