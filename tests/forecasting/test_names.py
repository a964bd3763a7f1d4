import pytest
from hypothesis import given
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
