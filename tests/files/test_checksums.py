"""Every changed byte of a file with a checksum is noticed."""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from titer.files import check_sealed_text, read_sealed_json, sha256_of, write_sealed_json, write_sealed_text
from titer.files.tensors import load_tensors, save_tensors

TENSORS = {"weight": torch.arange(12.0).reshape(3, 4), "steps": torch.tensor(7), "mask": torch.tensor([True, False])}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checksums")


def test_tensors_and_their_description_are_read_back(folder: Path):
    save_tensors(folder / "model", TENSORS, {"sizes": (1, 2), "name": "é"})
    tensors, about = load_tensors(folder / "model")
    assert all(torch.equal(tensors[name], TENSORS[name]) for name in TENSORS)
    assert about == {"sizes": [1, 2], "name": "é"}


def test_equal_tensors_give_equal_files(folder: Path):
    about = {"model": "titer", "titer": "1", "more": {"b": 1, "a": 2}}
    for number in range(8):
        save_tensors(folder / str(number), TENSORS, about)
    assert len({sha256_of(folder / str(number)) for number in range(8)}) == 1


@given(st.data())
def test_a_damaged_file_of_tensors_is_noticed_or_reads_the_same(folder: Path, data: st.DataObject):
    save_tensors(folder / "whole", TENSORS, {"epoch": 3})
    content = bytearray((folder / "whole").read_bytes())
    if data.draw(st.booleans(), "cut"):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    (folder / "damaged").write_bytes(content)
    try:
        tensors, about = load_tensors(folder / "damaged")
    except ValueError:
        return
    # Only spaces that pad the header can change without an effect.
    assert about == {"epoch": 3}
    assert all(torch.equal(tensors[name], TENSORS[name]) for name in TENSORS)


@given(st.data())
def test_a_damaged_json_file_is_noticed_or_reads_the_same(folder: Path, data: st.DataObject):
    value = {"temperature": 1.25, "names": ["Ada", "Émile"]}
    write_sealed_json(folder / "a.json", value)
    content = bytearray((folder / "a.json").read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    (folder / "b.json").write_bytes(content)
    try:
        found = read_sealed_json(folder / "b.json")
    except ValueError:
        return
    assert {key: found[key] for key in value} == value


def test_json_without_a_checksum_is_accepted(folder: Path):
    (folder / "old.json").write_text(json.dumps({"seconds": 1}))
    assert read_sealed_json(folder / "old.json") == {"seconds": 1}


@pytest.mark.parametrize("text", ["", "[1]", "{", "\xff", "[" * 100_000])
def test_what_is_no_json_object_is_a_value_error(folder: Path, text: str):
    (folder / "bad.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r".+"):
        read_sealed_json(folder / "bad.json")


def test_a_changed_setting_is_noticed(folder: Path):
    write_sealed_text(folder / "config.toml", "[model]\ndim = 8\n")
    check_sealed_text(folder / "config.toml")
    (folder / "config.toml").write_text((folder / "config.toml").read_text().replace("dim = 8", "dim = 9"))
    with pytest.raises(ValueError, match="checksum"):
        check_sealed_text(folder / "config.toml")
