"""Estimates of facts beside those of the networks."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Estimates:
    """Estimates of facts: through the model, the intensity of one side times the probability of the other; by trees."""

    forward: Tensor  # (facts,) log(intensity of subject and relation * P(object))
    backward: Tensor  # (facts,) log(intensity of object and relation * P(subject))
    known: Tensor  # (facts, 2) whether the model scored the pair, for either direction
    trees: Tensor  # (facts,) log intensity of the trees less that of the networks, less where these are sure; 0 if new
    recent: Tensor  # (facts, NUM_RECENT) log of events per forecast event of the last steps, of their groups

    def __getitem__(self, rows: Tensor) -> "Estimates":
        return Estimates(self.forward[rows], self.backward[rows], self.known[rows], self.trees[rows], self.recent[rows])
