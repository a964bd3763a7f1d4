from itertools import pairwise

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
def test_names_are_found_regardless_of_case_and_by_prefix(index: NameIndex, typed: str, meant: str):
    assert NAMES[index.find(typed)] == meant


def test_an_ambiguous_prefix_lists_the_candidates(index: NameIndex):
    with pytest.raises(UnknownNameError) as error:
        index.find("nig")
    assert error.value.suggestions == ["Niger", "Nigeria", "Nigel Farage"]


@pytest.mark.parametrize(("typed", "suggested"), [("Nigeira", "Nigeria"), ("buhari", "Muhammadu Buhari")])
def test_a_name_that_does_not_exist_gets_suggestions(index: NameIndex, typed: str, suggested: str):
    with pytest.raises(UnknownNameError, match="unknown entity") as error:
        index.find(typed)
    assert suggested in error.value.suggestions


def test_a_misspelt_word_suggests_the_longer_names_that_have_it():
    long = NameIndex(["Army of Northern Pakistan", "Police Forces of Pakistan", "Police Forces of India"], "entity")
    with pytest.raises(UnknownNameError) as error:
        long.find("Pakistn")
    assert error.value.suggestions == ["Army of Northern Pakistan", "Police Forces of Pakistan"]
    with pytest.raises(UnknownNameError) as error:
        long.find("Zimbabwe")
    assert error.value.suggestions == []


def test_a_number_is_no_name():
    with pytest.raises(UnknownNameError, match="the name of the entity must be text, such as '1', not 1"):
        NameIndex(["0", "1"], "entity").find(1)  # pyright: ignore[reportArgumentType]


def test_an_empty_name_is_refused(index: NameIndex):
    with pytest.raises(UnknownNameError, match="empty"):
        index.find("  ")


@given(st.lists(st.text(min_size=1), min_size=1, unique=True), st.data())
def test_every_name_finds_itself(names: list[str], data: st.DataObject):
    place = data.draw(st.integers(0, len(names) - 1))
    assert NameIndex(names, "entity").find(names[place]) == place


def test_simplified_names_ignore_case_brackets_and_underscores():
    assert simplified("<Real_Madrid__CF>") == simplified("real madrid cf")


def similarity(a: str, b: str) -> float:
    """Twice the length of the longest common subsequence, as a share of both lengths."""
    rows = [0] * (len(b) + 1)
    for x in a:
        above = rows[:]
        for j, y in enumerate(b):
            rows[j + 1] = above[j] + 1 if x == y else max(above[j + 1], rows[j])
    return 2 * rows[-1] / (len(a) + len(b))


@given(
    st.lists(st.text("abc ", min_size=1, max_size=8), min_size=1, max_size=150), st.text("abc", min_size=1, max_size=8)
)
def test_the_first_suggestion_has_the_most_similar_spelling(names: list[str], typed: str):
    simple = [simplified(name) for name in names if simplified(name)]
    assume(not any(name.startswith(typed) for name in simple))
    best = max((similarity(typed, name) for name in simple), default=0)
    with pytest.raises(UnknownNameError) as error:
        NameIndex(names, "entity").find(typed)
    if best >= 0.6:
        assert similarity(typed, simplified(error.value.suggestions[0])) == pytest.approx(best)
    else:
        for name in map(simplified, error.value.suggestions):
            assert typed in name or max(similarity(typed, word) for word in name.split()) >= 0.6


@pytest.mark.slow
def test_suggestions_are_found_among_a_hundred_thousand_names():
    index = NameIndex([f"Minister {number} of Nigeria" for number in range(100_000)], "entity")
    with pytest.raises(UnknownNameError) as error:
        index.find("Ministre 77123 of Nigeria")
    assert error.value.suggestions[0] == "Minister 77123 of Nigeria"


@pytest.mark.parametrize("names", [[], ["<>"]])
def test_there_are_no_suggestions_without_names(names: list[str]):
    with pytest.raises(UnknownNameError) as error:
        NameIndex(names, "entity").find("Nigeria")
    assert error.value.suggestions == []


@given(
    st.lists(st.text("ab ", min_size=1, max_size=6).filter(str.strip), min_size=1, max_size=12, unique=True),
    st.text("ab", min_size=1, max_size=2),
    st.integers(1, 13),
    st.randoms(use_true_random=False),
)
def test_frequent_names_are_completed_first_within_their_group(names, typed, limit, random):
    index, counts = NameIndex(names, "entity"), [random.randrange(4) for _ in names]
    found = index.completions(typed, limit, counts)
    matching = [name for name in names if typed in simplified(name)]
    assert len(found) == min(limit, len(matching))
    assert set(found) <= set(matching)

    def group(name: str) -> int:
        simple = simplified(name)
        return 0 if simple.startswith(typed) else 1 if f" {typed}" in simple else 2

    assert [group(name) for name in found] == sorted(map(group, matching))[:limit]
    often: dict[str, int] = {}
    for name, number in zip(names, counts, strict=True):
        often[simplified(name)] = max(often.get(simplified(name), 0), number)
    for one, other in pairwise(found):
        assert group(one) < group(other) or often[simplified(one)] >= often[simplified(other)]
