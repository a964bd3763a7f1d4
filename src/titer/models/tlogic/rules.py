"""Temporal rules, as columns of numbers and as text."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from titer.data.vocabulary import Vocabulary
from titer.models.tlogic.config import MAX_LENGTH

NO_RELATION = -1
"""Fills the columns of a rule body that is shorter than the longest."""


@dataclass(frozen=True)
class RuleForms:
    """Rules without their confidence.

    A rule says: if facts (E0, b0, E1, T0), (E1, b1, E2, T1), … hold with T0 <= T1 <= …, then (E0, h, En, T) holds at
    some later T. Two variables may be required to be the same entity.

    Attributes:
        head: h, a directed relation. Shape (rules,).
        body: b0, b1, …: directed relations, filled up with ``NO_RELATION``. Shape (rules, MAX_LENGTH).
        same: For each variable E0, E1, … the number of the first variable that is the same entity; its own number if it
            is the first. Shape (rules, MAX_LENGTH + 1).
    """

    head: NDArray[np.int64]
    body: NDArray[np.int64]
    same: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.head)

    def __getitem__(self, rows: NDArray[np.int64] | slice) -> "RuleForms":
        return RuleForms(self.head[rows], self.body[rows], self.same[rows])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of facts in each body. (rules,)"""
        return (self.body != NO_RELATION).sum(axis=1)

    @classmethod
    def distinct(cls, parts: "list[RuleForms]") -> "RuleForms":
        """Return all different rules, sorted by their numbers."""
        rows = np.concatenate([np.concatenate([p.head[:, None], p.body, p.same], axis=1) for p in parts])
        rows = np.unique(rows, axis=0)
        return cls(rows[:, 0], rows[:, 1 : MAX_LENGTH + 1], rows[:, MAX_LENGTH + 1 :])


def same_variables(entities: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each entity of a row the position of the first equal one, and positions beyond the row as they are.

    ``same_variables([[7, 8, 7]])`` is ``[[0, 1, 0, 3]]``.
    """
    equal = entities[:, :, None] == entities[:, None, :]
    first = equal.argmax(axis=2)
    rest = np.arange(entities.shape[1], MAX_LENGTH + 1)
    return np.concatenate([first, np.broadcast_to(rest, (len(entities), len(rest)))], axis=1)


def rule_text(head: int, body: list[int], same: list[int], vocabulary: Vocabulary) -> str:
    """Return a rule in words, such as ``Consult(A, B) after Host a visit(B, A)``.

    The facts of the body are in order of time. An inverse relation is written as the relation with its entities
    swapped.

    Args:
        head: The directed relation that the rule predicts.
        body: The directed relations of its body.
        same: For each variable, the first variable that is the same entity.
        vocabulary: The names of the relations.
    """
    letters = [chr(ord("A") + variable) for variable in same]

    def atom(relation: int, subject: str, object: str) -> str:
        ends = (object, subject) if vocabulary.is_inverse(relation) else (subject, object)
        return f"{vocabulary.relations[vocabulary.undirected(relation)]}({', '.join(ends)})"

    facts = [atom(relation, letters[hop], letters[hop + 1]) for hop, relation in enumerate(body)]
    return f"{atom(head, letters[0], letters[len(body)])} after {', then '.join(facts)}"
