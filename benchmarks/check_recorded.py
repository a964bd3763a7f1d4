"""Compare recorded optimisation steps of the path mixture on a GPU with plain ones, without pytest.

python benchmarks/check_recorded.py
"""

import torch

from titer import History, Queries
from titer.data.small_world import small_world
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.model import PathMixture
from titer.training.config import TrainingConfig
from titer.training.planned import PlannedStepper, RecordingStepper
from titer.training.steps import Stepper


def main() -> None:
    """Train the same model with each stepper, and print the largest difference between the weights."""
    dataset = small_world().dataset
    found: dict[str, dict[str, torch.Tensor]] = {}
    for kind in (Stepper, PlannedStepper, RecordingStepper):
        torch.manual_seed(0)
        config = PathMixtureConfig(dropout=0.0, entity_dropout=0.0, members=2)
        model = PathMixture(dataset.vocabulary, dataset.axis, config)
        model.prepare(dataset.train, dataset.valid)
        model.cuda().train()
        queries, answers = Queries.from_facts(dataset.train, dataset.vocabulary)
        history = History(dataset.train, dataset.vocabulary).to("cuda")
        # One learning rate for all weights makes rounding errors visible, so it is small.
        stepper = kind(model, queries, answers, history, TrainingConfig(batch_size=64, learning_rate=0.001))
        torch.manual_seed(1)
        batches = PlannedStepper(model, queries, answers, history, TrainingConfig(batch_size=64)).batches()
        for _ in range(3):
            for rows in batches:
                stepper.step(rows)
        recordings = [each.graph is not None for each in getattr(stepper, "recordings", [])]
        print(f"{kind.__name__}: loss {stepper.averages()['loss']:.5f}, recordings {recordings}")
        found[kind.__name__] = {name: value.detach().clone() for name, value in model.named_parameters()}
    for name in ("PlannedStepper", "RecordingStepper"):
        pairs = ((found[name][key], value) for key, value in found["Stepper"].items())
        print(f"largest difference of {name}: {max(float((a - b).abs().max()) for a, b in pairs):.2e}")


if __name__ == "__main__":
    main()
