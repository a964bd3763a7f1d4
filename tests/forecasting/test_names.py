import time
from difflib import get_close_matches

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from titer.errors import UnknownNameError
from titer.forecasting.names import NameIndex, simplified

NAMES = ["Nigeria", "Niger", "Muhammadu Buhari", "Citizen (Nigeria)", "<Getafe_CF>", "Nigel Farage"]


@pytest.fixture
def index() -> NameIndex:
    return NameIndex(NAMES, "entity")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Nigeria", "Nigeria"),
        ("niger", "Niger"),  # a whole name goes before longer ones that begin with it
        ("NIGERIA", "Nigeria"),
        ("muham", "Muhammadu Buhari"),
        ("getafe cf", "<Getafe_CF>"),
        ("  citizen   (nig", "Citizen (Nigeria)"),
    ],
)
def test_names_are_found_as_people_type_them(index: NameIndex, typed: str, meant: str):
    assert NAMES[index.find(typed)] == meant


def test_an_ambiguous_beginning_names_the_candidates(index: NameIndex):
    with pytest.raises(UnknownNameError) as error:
        index.find("nig")
    assert error.value.suggestions == ["Niger", "Nigeria", "Nigel Farage"]


@pytest.mark.parametrize(("typed", "suggested"), [("Nigeira", "Nigeria"), ("buhari", "Muhammadu Buhari")])
def test_a_name_that_does_not_exist_gets_suggestions(index: NameIndex, typed: str, suggested: str):
    with pytest.raises(UnknownNameError, match="there is no entity") as error:
        index.find(typed)
    assert suggested in error.value.suggestions


def test_an_empty_name_is_nobody(index: NameIndex):
    with pytest.raises(UnknownNameError, match="empty"):
        index.find("  ")


@given(st.lists(st.text(min_size=1), min_size=1, unique=True), st.data())
def test_every_name_finds_itself(names: list[str], data: st.DataObject):
    place = data.draw(st.integers(0, len(names) - 1))
    assert NameIndex(names, "entity").find(names[place]) == place


def test_simplified_names_ignore_case_brackets_and_underscores():
    assert simplified("<Real_Madrid__CF>") == simplified("real madrid cf")


@given(
    st.lists(st.text("abc ", min_size=1, max_size=8), min_size=1, max_size=150), st.text("abc", min_size=1, max_size=8)
)
def test_suggestions_are_those_that_are_spelled_most_alike(names: list[str], typed: str):
    assume(not any(simplified(name).startswith(typed) for name in names))
    closest = get_close_matches(typed, [simplified(name) for name in names], 1, cutoff=0.6)
    assume(closest)
    with pytest.raises(UnknownNameError) as error:
        NameIndex(names, "entity").find(typed)
    assert simplified(error.value.suggestions[0]) == closest[0]


def test_who_is_not_among_a_hundred_thousand_is_soon_known_not_to_be():
    index = NameIndex([f"Minister {number} of Nigeria" for number in range(100_000)], "entity")
    index.completions("x", 1)
    started = time.perf_counter()
    with pytest.raises(UnknownNameError) as error:
        index.find("Ministre 77123 of Nigeria")
    assert time.perf_counter() - started < 2  # one by one, ten and more
    assert error.value.suggestions[0] == "Minister 77123 of Nigeria"


@pytest.mark.parametrize("names", [[], ["<>"]])
def test_where_nobody_has_a_name_nobody_is_suggested(names: list[str]):
    with pytest.raises(UnknownNameError) as error:
        NameIndex(names, "entity").find("Nigeria")
    assert error.value.suggestions == []
