"""Measure what the weights β of TITer's actions do in a trained model.

    python benchmarks/action_weights.py RUN --split valid

β weighs the score of an action's node against that of its edge. The run is evaluated three times: with the learned β,
with the mean of β over the actions of each decision instead, and with 0.5. The result file also has the mean of β, and
its standard deviation between the actions of one decision. It is written to ``benchmarks/action_weights``.
"""

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from titer import Run, evaluate
from titer.models.titer import search
from titer.models.titer.decide import ActionScores, Candidates, Scoring, score_actions
from titer.runs.provenance import provenance

RESULTS = Path(__file__).parent / "action_weights"
FAR = 1e6
KINDS = ("learned", "mean of each decision", "0.5")


class Spread:
    """The mean of β over actions, and its standard deviation between the actions of one decision."""

    def __init__(self) -> None:
        self.count = self.total = self.decisions = self.deviation = 0.0

    def add(self, beta: Tensor, mask: Tensor) -> None:
        """Count the actions of some decisions. Decisions with a single action have no deviation."""
        number = mask.sum(dim=1)
        several = number > 1
        mean = _mean(beta, mask)
        variance = ((beta - mean[:, None]).square() * mask).sum(dim=1) / number.clamp(min=1)
        self.count += float(number.sum())
        self.total += float((beta * mask).sum())
        self.decisions += float(several.sum())
        self.deviation += float(variance.sqrt()[several].sum())

    def to_dict(self) -> dict[str, float]:
        """Return both numbers."""
        return {"mean": self.total / max(self.count, 1), "deviation": self.deviation / max(self.decisions, 1)}


def main() -> None:
    """Evaluate a run with each kind of weights, and write a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="run directory of TITer, trained with weighted scoring")
    parser.add_argument("--split", default="valid", choices=("valid", "test"))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the result file")
    arguments = parser.parse_args()
    run = Run(arguments.run)
    if run.config.model_name != "titer" or not run.config.to_dict()["model"]["weighted_scoring"]:
        parser.error(f"{run.path} is not a run of titer with weighted scoring")
    model = run.load_model(arguments.device)
    spread, mrr = Spread(), {}
    for kind in KINDS:
        search.score_actions = with_weights(kind, spread)
        mrr[kind] = evaluate(model, run.dataset, arguments.split).metrics().mrr
        print(f"{kind}: MRR {100 * mrr[kind]:.2f}", flush=True)
    result: dict[str, Any] = {
        "dataset": run.dataset.name,
        "split": arguments.split,
        "config": run.config.to_dict(),
        "beta": spread.to_dict(),
        "mrr": mrr,
        "command": shlex.join(["python", *sys.argv]),
        **provenance(model.device),
    }
    print(
        f"β: mean {result['beta']['mean']:.3f}, between the actions of a decision ± {result['beta']['deviation']:.3f}"
    )
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / f"{run.dataset.name.lower()}-seed{run.config.training.seed}.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(path)


def with_weights(kind: str, spread: Spread) -> Any:
    """Return ``score_actions`` with other weights β; the learned ones are counted."""

    def scored(candidates: Candidates, scoring: Scoring, *, weighted: bool) -> ActionScores:
        found = score_actions(candidates, scoring, weighted=weighted and kind != "0.5")
        if kind == "learned":
            spread.add(found.beta, candidates.mask)
        if kind != "mean of each decision":
            return found
        # A gate far from 0 gives β = 1 and β = 0: the scores of nodes and of edges alone.
        of_node, of_edge = (
            score_actions(candidates, scoring._replace(gate=torch.full_like(scoring.gate, gate)), weighted=True).phi
            for gate in (FAR, -FAR)
        )
        beta = _mean(found.beta, candidates.mask)[:, None]
        phi = torch.where(candidates.mask, beta * of_node + (1 - beta) * of_edge, -torch.inf)
        return ActionScores(phi, beta.expand_as(phi))

    return scored


def _mean(values: Tensor, mask: Tensor) -> Tensor:
    return (values * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


if __name__ == "__main__":
    main()
