"""py-tgb itself on generated files: its reader, its splits, its generator of candidate files, sampler and evaluator."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch


def oracle_dataset(folder: Path, name: str) -> Any:
    """Let py-tgb read a folder."""
    module = pytest.importorskip("tgb.linkproppred.dataset", reason="TGB is not installed: make oracles")
    return module.LinkPropPredDataset(name, meta_dict={"dir_name": str(folder)}, download=False)


def generate_candidates(
    data: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, strategy: str, num_negatives: int = -1
) -> None:
    """Let py-tgb write the candidate files of a dataset."""
    # The generator imports this package for the annotation of its arguments only.
    geometric = ModuleType("torch_geometric.data")
    geometric.TemporalData = SimpleNamespace  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "torch_geometric", ModuleType("torch_geometric"))
    monkeypatch.setitem(sys.modules, "torch_geometric.data", geometric)
    module = import_module("tgb.linkproppred.tkg_negative_generator")
    generator = module.TKGNegativeEdgeGenerator(
        dataset_name=data.name,
        first_dst_id=data.min_dst_idx,
        last_dst_id=data.max_dst_idx,
        num_neg_e=num_negatives,
        strategy=strategy,
        partial_path=str(folder),
        edge_data=_edges(data, np.ones(len(data.train_mask), dtype=bool)),
    )
    for split, mask in (("val", data.val_mask), ("test", data.test_mask)):
        generator.generate_negative_samples(_edges(data, mask), split, str(folder))


def reciprocal_ranks(data: Any, folder: Path, split: str, scores: Any) -> dict[tuple[int, int, int, int], float]:
    """Return what py-tgb's sampler and evaluator give for each query (time, subject, relation, answer).

    Args:
        data: The dataset of ``oracle_dataset``.
        folder: The folder of its candidate files.
        split: ``val`` or ``test``.
        scores: A function from (time, subject, relation) to the scores of all entities.
    """
    sampler = data.negative_sampler
    sampler.load_eval_set(str(folder / f"{data.name}_{split}_ns.pkl"), split)
    edges = _edges(data, data.val_mask if split == "val" else data.test_mask)
    columns = [column.numpy() for column in (edges.src, edges.dst, edges.t, edges.edge_type)]
    negatives = sampler.query_batch(*columns, split_mode=split)
    found: dict[tuple[int, int, int, int], float] = {}
    evaluator = import_module("tgb.linkproppred.evaluate").Evaluator(data.name)
    for subject, answer, time, relation, others in zip(*columns, negatives, strict=True):
        values = scores(int(time), int(subject), int(relation))
        given = {"y_pred_pos": values[[answer]], "y_pred_neg": values[others][None], "eval_metric": ["mrr"]}
        found[int(time), int(subject), int(relation), int(answer)] = float(evaluator.eval(given)["mrr"])
    return found


def _edges(data: Any, mask: np.ndarray) -> Any:
    full = data.full_data
    names = {"src": "sources", "dst": "destinations", "t": "timestamps", "edge_type": "edge_type"}
    return SimpleNamespace(**{key: torch.from_numpy(full[column][mask]) for key, column in names.items()})
