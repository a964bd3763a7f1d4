"""Estimates of facts through the model of the run."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Estimates:
    """Estimates through the model, of facts: intensity of one side times probability of the other."""

    forward: Tensor  # (facts,) log(intensity of subject and relation * P(object))
    backward: Tensor  # (facts,) log(intensity of object and relation * P(subject))
    known: Tensor  # (facts, 2) whether the model scored the pair, for either direction

    def __getitem__(self, rows: Tensor) -> "Estimates":
        return Estimates(self.forward[rows], self.backward[rows], self.known[rows])
