"""Two processes that share the work get the same results as one that does it alone."""

import subprocess
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from parallel import jobs
from titer.errors import TiterError
from titer.models.registry import model_class, model_names
from titer.parallel import processes
from titer.parallel.launch import _environment
from warm_processes import WarmProcess

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("parallel"), pytest.mark.timeout(600)]

WORKER = "from parallel.worker import main; main()"
MAX_SECONDS = 240


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of two processes that did all jobs together."""
    path = tmp_path_factory.mktemp("together")
    found = [
        WarmProcess("-c", WORKER, path, environment=_environment(number, 2, path), stderr=subprocess.PIPE)
        for number in range(2)
    ]
    for process in found:
        _, message = process.communicate(timeout=MAX_SECONDS)
        assert process.returncode == 0, message
    return path


def result(folder: Path, job: str, number: int) -> dict[str, Tensor]:
    return load_file(folder / f"{job}-{number}.safetensors")


def assert_close(found: dict[str, Tensor], expected: dict[str, Tensor], tolerance: float = 2e-5) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(
            found[name], value, rtol=tolerance, atol=tolerance, msg=lambda m, n=name: f"{n}: {m}"
        )


def test_a_lost_process_is_explained_without_the_text_of_the_backend():
    with pytest.raises(TiterError) as found, processes._contact():
        raise RuntimeError(
            "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer. GLHF!"
        )
    assert str(found.value) == (
        "process 0 stopped: another process has ended or cannot be reached. "
        "The last checkpoint is kept; continue with --resume"
    )
    with pytest.raises(torch.OutOfMemoryError), processes._contact():
        raise torch.OutOfMemoryError


def test_all_models_with_gradients_are_compared():
    dataset = jobs.data()
    trained = {
        name
        for name in model_names()
        # Tests register models of their own.
        if model_class(name).__module__.startswith("titer.")
        and model_class(name)(dataset.vocabulary, dataset.axis).is_trained_by_gradients
    }
    assert trained == set(jobs.SMALL)


@pytest.mark.parametrize("name", jobs.SMALL)
def test_two_processes_with_half_a_batch_each_learn_what_one_learns_from_all_of_it(folder: Path, name: str):
    together, alone = result(folder, name, 0), jobs.trained(name)
    begun = jobs.model_of(name, jobs.data()).state_dict()
    assert any(not torch.equal(alone[key], begun[key]) for key in begun)
    assert_close(together, alone)


@pytest.mark.parametrize("name", jobs.SMALL)
def test_both_processes_have_exactly_the_same_weights(folder: Path, name: str):
    first, second = result(folder, name, 0), result(folder, name, 1)
    assert first.keys() == second.keys()
    assert all(torch.equal(first[key], second[key]) for key in first)


def test_an_evaluation_by_two_processes_is_that_of_one(folder: Path):
    alone = jobs.ranks()
    for number in range(2):
        found = result(folder, "ranks", number)
        assert all(torch.equal(found[name], alone[name]) for name in alone)


def test_gradients_are_summed_and_of_large_tables_only_rows_are_sent(folder: Path):
    for number in range(2):
        found = result(folder, "summed_gradients", number)
        # The second process has five rows of the first table, and the first three of the other.
        assert found.pop("sent").tolist() == [5, 3]
        expected = jobs.whole_gradients()
        assert found.pop("rows").tolist() == expected["sparse"].any(dim=1).nonzero()[:, 0].tolist()
        assert_close(found, expected, 1e-6)


def test_statistics_of_a_divided_batch_are_those_of_the_whole(folder: Path):
    for number in range(2):
        assert_close(result(folder, "batch_statistics", number), jobs.batch_statistics())


def test_every_process_receives_what_the_first_has(folder: Path):
    for number in range(2):
        found = result(folder, "shared", number)
        assert found["weights"].tolist() == [[0.0] * 3] * 2
        assert found["count"].item() == 5


def test_a_failure_of_the_first_process_is_reported_in_all(folder: Path):
    assert all(bool(result(folder, "failure", number)["reported"]) for number in range(2))
