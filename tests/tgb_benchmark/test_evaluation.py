"""Evaluation as in TGB, compared with py-tgb's sampler and evaluator query by query."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from conftest import SMALL_CONFIGS
from tgb_benchmark.generated import dump_candidates, write_tgb
from tgb_benchmark.oracle import generate_candidates, oracle_dataset, reciprocal_ranks
from titer.data.dataset import Dataset
from titer.data.tgb.reader import read_tgb, tgb_sizes
from titer.data.tgb.time import steps_of
from titer.errors import DataError, TiterError
from titer.evaluation.evaluate import evaluate
from titer.evaluation.tgb import evaluate_tgb
from titer.evaluation.tgb_candidates import TgbCandidates
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model
from titer.models.registry import model_class

ORACLES = pytest.mark.filterwarnings("ignore")
NUM_NEGATIVES = 12


class TiedModel(Model):
    """Scores that depend on the query alone, with very many ties, and some entities that it does not score."""

    name = "tied"

    def score(self, queries: Queries, history: History) -> Tensor:
        entity = torch.arange(history.vocabulary.num_entities)
        mixed = queries.subject[:, None] * 7 + queries.relation[:, None] * 3 + queries.time[:, None] * 5 + entity * 11
        return torch.where(mixed % 13 == 0, -torch.inf, (mixed % 5).float())


def tied(dataset: Dataset) -> TiedModel:
    return TiedModel(dataset.vocabulary, dataset.axis)


def by_query(dataset: Dataset, found: Any) -> dict[tuple[int, int, int, int], float]:
    """Return the reciprocal rank of each query in the ids of TGB, with time steps."""
    vocabulary, queries = dataset.vocabulary, found.queries
    inverse = vocabulary.is_inverse(queries.relation)
    relation = vocabulary.undirected(queries.relation) + inverse * tgb_sizes(dataset).relations
    columns = (queries.time, queries.subject, relation, found.answers)
    keys = zip(*(column.tolist() for column in columns), strict=True)
    return dict(zip(keys, (1 / found.ranks).tolist(), strict=True))


def scorer(model: Model, dataset: Dataset) -> Callable[[int, int, int], np.ndarray]:
    """Return a function from time, subject and relation of TGB to the scores of all entities."""
    history, num_relations = History(dataset.facts, dataset.vocabulary), tgb_sizes(dataset).relations

    def scores(time: int, subject: int, relation: int) -> np.ndarray:
        step = int(steps_of(np.array([time]), dataset.axis)[0])
        ours = dataset.vocabulary.inverse(relation - num_relations) if relation >= num_relations else relation
        return model.score(Queries.one(subject, ours, step), history)[0].numpy()

    return scores


@ORACLES
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "numbered", "strategy", "static"),
    [
        ("tkgl-smallpedia", False, "time-filtered", 60),
        ("tkgl-polecat", True, "time-filtered", 0),
        ("tkgl-icews", True, "time-filtered", 0),
        ("tkgl-wikidata", False, "dst-time-filtered", 60),
    ],
)
def test_every_reciprocal_rank_is_that_of_py_tgb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, numbered: bool, strategy: str, static: int
):
    write_tgb(tmp_path, name, numbered=numbered, static=static, num_facts=600)
    theirs = oracle_dataset(tmp_path, name)
    num_negatives = NUM_NEGATIVES if strategy == "dst-time-filtered" else -1
    generate_candidates(theirs, tmp_path, monkeypatch, strategy, num_negatives)
    for with_static in (False, True) if static else (False,):
        dataset = read_tgb(tmp_path, static=with_static)
        model = tied(dataset)
        for split, their_split in (("valid", "val"), ("test", "test")):
            candidates = TgbCandidates.load(tmp_path / f"{name}_{their_split}_ns.pkl", dataset)
            found = evaluate_tgb(model, dataset, split, candidates, batch_size=50, quiet=True)
            assert found.candidates == ("listed" if strategy == "dst-time-filtered" else "all")
            ours = by_query(dataset, found)
            expected = {
                (int(steps_of(np.array([t]), dataset.axis)[0]), s, r, o): value
                for (t, s, r, o), value in reciprocal_ranks(
                    theirs, tmp_path, their_split, scorer(model, dataset)
                ).items()
            }
            assert ours.keys() == expected.keys()
            assert [ours[key] for key in expected] == pytest.approx(list(expected.values()), abs=1e-6)


def exclusion_sets(dataset: Dataset, split: str, times: Any) -> dict[tuple[int, int, int], np.ndarray]:
    """Return the exclusion sets of a split by their definition."""
    sets: dict[tuple[int, int, int], set[int]] = {}
    for s, r, o, t in dataset.splits[split]:
        sets.setdefault((times(t), s, r), set()).add(o)
        sets.setdefault((times(t), o, r + dataset.vocabulary.num_relations), set()).add(s)
    return {key: np.array(sorted(value)) for key, value in sets.items()}


@pytest.fixture
def toy(tmp_path: Path) -> tuple[Dataset, Path]:
    dataset = read_tgb(write_tgb(tmp_path, num_facts=300))
    for split, name in (("valid", "val"), ("test", "test")):
        sets = exclusion_sets(dataset, split, lambda step: 1900 + step)
        dump_candidates(tmp_path / f"tkgl-toy_{name}_ns.pkl", sets)
    return dataset, tmp_path


@pytest.mark.parametrize("name", ["recurrency", "path_mixture"])
def test_exclusion_sets_give_the_ranks_of_the_time_aware_filter(toy: tuple[Dataset, Path], name: str):
    dataset, folder = toy
    torch.manual_seed(0)
    model = model_class(name)(dataset.vocabulary, dataset.axis, SMALL_CONFIGS[name].model)
    model.prepare(dataset.train, dataset.valid)
    candidates = TgbCandidates.load(folder / "tkgl-toy_test_ns.pkl", dataset)
    found = evaluate_tgb(model, dataset, "test", candidates, quiet=True)
    assert torch.equal(found.ranks, evaluate(model, dataset, "test", quiet=True).ranks_under())
    assert found.metrics.queries == 2 * len(dataset.test)


@pytest.mark.parametrize("name", ["recurrency", "path_mixture"])
def test_listed_candidates_give_the_ranks_among_them(toy: tuple[Dataset, Path], name: str):
    dataset, folder = toy
    torch.manual_seed(0)
    model = model_class(name)(dataset.vocabulary, dataset.axis, SMALL_CONFIGS[name].model)
    model.prepare(dataset.train, dataset.valid)
    rng = np.random.default_rng(0)
    sets = {
        # Lists of different lengths; some have the answer too, as some lists of TGB do.
        key: rng.permutation(dataset.vocabulary.num_entities)[: 5 + int(rng.integers(0, 3))]
        for key in exclusion_sets(dataset, "test", lambda step: 1900 + step)
    }
    dump_candidates(folder / "x_ns.pkl", sets)
    found = evaluate_tgb(model, dataset, "test", TgbCandidates.load(folder / "x_ns.pkl", dataset), quiet=True)
    assert found.candidates == "listed"
    history = History(dataset.facts, dataset.vocabulary)
    model.eval()
    with torch.inference_mode():
        for row in range(0, len(found.queries), 7):
            query, answer = found.queries[row : row + 1], int(found.answers[row])
            scores = model.score(query, history)[0]
            key = (1900 + int(query.time), int(query.subject), int(query.relation))
            others = scores[torch.from_numpy(sets[key])] - scores[answer]
            others[others.abs() < 1e-5] = 0
            expected = 1 + float((others > 0).sum()) + float((others == 0).sum()) / 2
            assert float(found.ranks[row]) == expected


def test_facts_at_and_after_the_time_of_a_query_do_not_matter(toy: tuple[Dataset, Path]):
    dataset, folder = toy
    model = model_class("recurrency")(dataset.vocabulary, dataset.axis)
    model.prepare(dataset.train, dataset.valid)
    candidates = TgbCandidates.load(folder / "tkgl-toy_test_ns.pkl", dataset)
    ranks = evaluate_tgb(model, dataset, "test", candidates, quiet=True).ranks
    first = int(dataset.test.time.min())
    later = dataset.test.time > first
    moved = dataset.test[np.flatnonzero(later)]
    object.__setattr__(moved, "object", (moved.object + 1) % dataset.vocabulary.num_entities)
    now = dataset.test[np.flatnonzero(~later)]
    changed = Dataset(
        dataset.name, dataset.vocabulary, dataset.axis, dataset.train, dataset.valid, type(now).concatenate(now, moved)
    )
    sets = exclusion_sets(changed, "test", lambda step: 1900 + step)
    dump_candidates(folder / "changed_ns.pkl", sets)
    again = evaluate_tgb(model, changed, "test", TgbCandidates.load(folder / "changed_ns.pkl", changed), quiet=True)
    asked_now = torch.cat([torch.arange(len(now)), len(dataset.test) + torch.arange(len(now))])
    assert bool((again.queries.time[asked_now] == first).all())
    assert torch.equal(again.ranks[asked_now], ranks[asked_now])


def test_the_file_of_another_split_is_rejected(toy: tuple[Dataset, Path]):
    dataset, folder = toy
    candidates = TgbCandidates.load(folder / "tkgl-toy_val_ns.pkl", dataset)
    with pytest.raises(DataError, match=r"no entry for .* use the file of this split"):
        evaluate_tgb(tied(dataset), dataset, "test", candidates, quiet=True)


@pytest.mark.parametrize("key", [(1910, 99, 0), (1910, 0, 99), (1910, -1, 0), (1910, 0, -1)])
def test_the_file_of_another_dataset_is_rejected(toy: tuple[Dataset, Path], key: tuple[int, int, int]):
    dataset, folder = toy
    dump_candidates(folder / "x.pkl", {key: np.array([1])})
    with pytest.raises(DataError, match=r"x\.pkl: the candidates are those of another dataset"):
        TgbCandidates.load(folder / "x.pkl", dataset)
    dump_candidates(folder / "x.pkl", {(1910, 0, 0): np.array([1000])})
    with pytest.raises(DataError, match="another dataset"):
        TgbCandidates.load(folder / "x.pkl", dataset)


class NoNumberModel(TiedModel):
    """A model whose scores are not numbers."""

    name = "no-number"

    def score(self, queries: Queries, history: History) -> Tensor:
        return super().score(queries, history) * torch.nan


def test_scores_that_are_no_numbers_are_an_error(toy: tuple[Dataset, Path]):
    dataset, folder = toy
    candidates = TgbCandidates.load(folder / "tkgl-toy_test_ns.pkl", dataset)
    with pytest.raises(TiterError, match="NaN"):
        evaluate_tgb(NoNumberModel(dataset.vocabulary, dataset.axis), dataset, "test", candidates, quiet=True)
