"""The reader of candidate files accepts what such files contain, and executes nothing."""

import contextlib
import os
import pickle
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgb_benchmark.generated import dump_candidates
from titer.data.tgb.pickled import CandidateArrays
from titer.data.tgb.pickles import read_candidate_file
from titer.errors import DataError

SYSTEM: Any = vars(os)["system"]
IDS = st.integers(0, 2**31 - 1)
KEYS = st.tuples(st.integers(-(2**40), 2**40), IDS, st.integers(0, 1000))
SETS = st.dictionaries(KEYS, st.lists(IDS, min_size=1, max_size=40), min_size=1, max_size=30)


def as_dictionary(found: CandidateArrays) -> dict[tuple[int, ...], list[int]]:
    return {
        tuple(key): found.values[start : start + length].tolist()
        for key, start, length in zip(found.keys.tolist(), found.start, found.length, strict=True)
    }


def _unpickle(content: bytes) -> Any:
    return pickle.loads(content)  # noqa: S301 made by this test


@given(sets=SETS, protocol=st.sampled_from([3, 4, 5]))
def test_the_content_is_that_of_unpickling(tmp_path_factory: pytest.TempPathFactory, sets: Any, protocol: int):
    path = tmp_path_factory.mktemp("sets") / "toy_val_ns.pkl"
    dump_candidates(path, {key: np.array(value) for key, value in sets.items()}, protocol)
    assert as_dictionary(read_candidate_file(path)) == sets
    expected = {tuple(map(int, key)): value.tolist() for key, value in _unpickle(path.read_bytes()).items()}
    assert as_dictionary(read_candidate_file(path)) == expected


@pytest.mark.parametrize("kind", ["i4", "u2", ">i8", "i8", "u1"])
def test_integers_of_every_kind_are_read(tmp_path: Path, kind: str):
    (tmp_path / "x").write_bytes(pickle.dumps({(np.int32(7), 1, np.uint8(2)): np.array([3, 200], kind)}))
    assert as_dictionary(read_candidate_file(tmp_path / "x")) == {(7, 1, 2): [3, 200]}


def test_large_files_with_many_keys_are_read(tmp_path: Path):
    sets = {(1_600_000_000 + i, i % 700, i % 9): np.arange(i % 5 + 1) + i for i in range(5000)}
    dump_candidates(tmp_path / "x", sets)
    assert as_dictionary(read_candidate_file(tmp_path / "x")) == {key: value.tolist() for key, value in sets.items()}


def test_files_of_older_versions_of_numpy_are_read(tmp_path: Path):
    dump_candidates(tmp_path / "x", {(1, 2, 3): np.array([4, 5])}, protocol=3)
    content = (tmp_path / "x").read_bytes()
    assert b"numpy._core" in content
    (tmp_path / "x").write_bytes(content.replace(b"numpy._core.", b"numpy.core."))
    assert as_dictionary(read_candidate_file(tmp_path / "x")) == {(1, 2, 3): [4, 5]}


class Call:
    """An object whose unpickling calls a function."""

    def __init__(self, function: Any, *arguments: Any):
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def good() -> dict[Any, Any]:
    return {(np.int64(1), np.int64(2), np.int64(3)): np.array([4, 5])}


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("place", ["key", "value", "inside", "whole"])
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (SYSTEM, ("touch {mark}",)),
        (eval, ("open({mark!r}, 'w')",)),
        (exec, ("open({mark!r}, 'w')",)),
        (os.mkdir, ("{mark}",)),
        (getattr, (os, "getcwd")),
        (bytearray, (10**12,)),
        (np.zeros, (10**12,)),
    ],
)
def test_no_call_of_a_hostile_file_is_executed(
    tmp_path: Path, protocol: int, place: str, function: Any, arguments: tuple[Any, ...]
):
    mark = tmp_path / "executed"
    filled = tuple(part.format(mark=str(mark)) if isinstance(part, str) else part for part in arguments)
    if function is getattr:
        filled = ("", "upper")  # a module cannot be pickled
    call = Call(function, *filled)
    content = {
        "key": {call: np.array([1])},
        "value": good() | {(1, 2, 4): call},
        "inside": good() | {(1, 2, 4): [call]},
        "whole": call,
    }[place]
    (tmp_path / "x").write_bytes(pickle.dumps(content, protocol))
    with pytest.raises(DataError, match="is not a candidate file of TGB"):
        read_candidate_file(tmp_path / "x")
    assert not mark.exists()


def test_the_test_would_see_a_call(tmp_path: Path):
    _unpickle(pickle.dumps(Call(os.mkdir, str(tmp_path / "executed"))))
    assert (tmp_path / "executed").exists()


def _push(text: bytes) -> bytes:
    return b"\x8c" + bytes([len(text)]) + text


BOMB = b"\x80\x05" + b")\x94" + b"".join(b"h" + bytes([i]) + b"h" + bytes([i]) + b"\x86\x94" for i in range(200))
TYPE = _push(b"numpy") + _push(b"dtype") + b"\x93"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read"),
        (b".", "not consist of one dictionary"),
        (b"\x80\x05}.", "empty"),
        (b"\x80\x05}", "cut off"),
        (b"\x80\x05\x8e" + struct.pack("<Q", 2**62) + b"x", "cut off"),  # bytes of four exabytes
        (b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b"x", "cut off"),
        (b"\x80\x05\x95" + struct.pack("<Q", 2**62) + b"}.", "empty"),  # frames are not allocated
        (b"\x80\x05N" + b"r" + struct.pack("<I", 2**32 - 1) + b".", "not numbered in order"),
        (b"\x80\x05j" + struct.pack("<I", 2**31) + b".", "wrong values"),
        (b"\x80\x05" + b"N" * 100_000 + b".", "nested too deeply"),
        (b"\x80\x05" + b"(" * 100_000 + b".", "nested too deeply"),
        (b"\x80\x05X" + struct.pack("<I", 2**32 - 1) + b"x", "long texts"),
        (b"\x80\x05u.", "wrong values|mark is missing"),
        (b"\x80\x05R.", "wrong values"),
        (b"\x80\x05}}s.", "several dictionaries"),
        (b"\x80\x05K\x01K\x02\x87.", "value is missing"),
        (b"\x80\x05(K\x01u.", "wrong values|entries without"),
        (b"\x80\x05\x82\x01.", "not allowed"),  # EXT1: the registry of extensions
        (b"cos\nsystem\n(S'true'\ntR.", r"'os\.system', which is not allowed"),
        (b"\x80\x05" + _push(b"numpy") + _push(b"load") + b"\x93.", r"'numpy\.load', which is not allowed"),
        (b"\x80\x05Pid\n.", "not allowed"),
        (BOMB + b"h\xc8h\xc8\x93.", "name is not text"),
        (BOMB + TYPE + b"h\xc8\x85R.", "other types than integers"),
        (b"\x80\x05" + TYPE + _push(b"O8") + b"\x89\x88\x87R.", "other types than integers"),
        (b"\x80\x05" + TYPE + _push(b"V1000000000") + b"\x89\x88\x87R.", "other types than integers"),
        (b"\x80\x05" + TYPE + _push(b"i8") + b"\x89\x88\x87R}b.", "wrong values|not allowed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_hostile_or_damaged_file_is_rejected_at_once_and_without_memory(tmp_path: Path, content: bytes, message: str):
    (tmp_path / "x").write_bytes(content)
    tracemalloc.start()
    with pytest.raises(DataError, match=message):
        read_candidate_file(tmp_path / "x")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


ENTITIES = b"\x8e" + struct.pack("<Q", 100_000) + bytes(100_000)
SHAPE = b"J" + struct.pack("<i", 25_000) + b"\x85"
INTEGERS = TYPE + _push(b"i4") + b"\x89\x88\x87R"
FROM_BUFFER = _push(b"numpy._core.numeric") + _push(b"_frombuffer") + b"\x93\x94"
RECONSTRUCT = _push(b"numpy._core.multiarray") + _push(b"_reconstruct") + b"\x93\x94"
ARRAY = _push(b"numpy") + _push(b"ndarray") + b"\x93\x85\x94"


@pytest.mark.parametrize(
    ("before", "again"),
    [
        (FROM_BUFFER + b"(" + ENTITIES + INTEGERS + SHAPE + _push(b"C") + b"t\x94R", b"h\x00h\x01R"),
        (
            RECONSTRUCT + ARRAY + b"R(K\x01" + SHAPE + INTEGERS + b"\x89" + ENTITIES + b"t\x94b",
            b"h\x00h\x01Rh\x02b",
        ),
    ],
    ids=["arguments", "state"],
)
def test_an_array_that_is_made_many_times_is_rejected_without_memory(tmp_path: Path, before: bytes, again: bytes):
    (tmp_path / "once").write_bytes(b"\x80\x05}K\x01K\x02K\x03\x87" + before + b"s.")
    assert len(read_candidate_file(tmp_path / "once").values) == 25_000
    (tmp_path / "x").write_bytes(b"\x80\x05}" + before + 1000 * again + b".")
    tracemalloc.start()
    with pytest.raises(DataError, match="its arrays are larger than the file"):
        read_candidate_file(tmp_path / "x")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000


def test_an_array_of_several_keys_is_read(tmp_path: Path):
    array = np.arange(1000)
    sets = {(1, 2, i): array for i in range(50)}
    (tmp_path / "x").write_bytes(pickle.dumps(sets))
    assert as_dictionary(read_candidate_file(tmp_path / "x")) == {key: array.tolist() for key in sets}


@pytest.mark.parametrize(
    "content",
    [
        [good()],
        {(1, 2): np.array([1])},
        {(1, 2, 3.5): np.array([1])},
        {(1, 2, True): np.array([1])},
        {(1, 2, "3"): np.array([1])},
        {1: np.array([1])},
        {(1, 2, 2**70): np.array([1])},
        {(1, 2, 3): [1, 2]},
        {(1, 2, 3): np.array([1.5])},
        {(1, 2, 3): np.array([[1, 2]])},
        {(1, 2, 3): np.array([-1])},
        {(1, 2, 3): np.array([5, -1], "i1")},
        {(1, 2, 3): np.array([-2], ">i2")},
        {(1, 2, 3): np.array([2**31])},
        {(1, 2, 3): np.array([None])},
        {(1, 2, 3): np.array(["text"])},
        {(1, 2, 3): good()},
        {(1, 2, 3): np.array([1], [("a", "i8")])},
    ],
)
def test_other_content_is_rejected(tmp_path: Path, content: Any):
    (tmp_path / "x").write_bytes(pickle.dumps(content))
    with pytest.raises(DataError, match="is not a candidate file of TGB"):
        read_candidate_file(tmp_path / "x")


@given(data=st.data())
def test_no_cut_and_no_changed_byte_causes_another_error(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    path = tmp_path_factory.mktemp("sets") / "x"
    dump_candidates(path, {(1, 2, 3): np.array([4, 5]), (1, 2, 4): np.array([6])})
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        path.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
        with pytest.raises(DataError):
            read_candidate_file(path)
    else:
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(content)
        with contextlib.suppress(DataError):
            read_candidate_file(path)


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(DataError, match=r"nothing\.pkl"):
        read_candidate_file(tmp_path / "nothing.pkl")
