import pytest

from titer.counted import counted


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 facts"), (1, "1 fact"), (-1, "-1 fact"), (2, "2 facts"), (12_345, "12,345 facts")]
)
def test_a_noun_is_in_plural_unless_there_is_one(number: int, words: str):
    assert counted(number, "fact") == words


def test_an_irregular_plural_is_given():
    assert [counted(number, "query", "queries") for number in (1, 2)] == ["1 query", "2 queries"]
