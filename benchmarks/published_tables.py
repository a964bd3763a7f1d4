"""The figures of the TITer paper that are not in its main table.

Tables have the numbers of the paper. The main table is in ``titer.evaluation.published``, which cites the paper.
"""

from dataclasses import dataclass

from titer.evaluation.published import METRICS


@dataclass(frozen=True)
class PublishedDataset:
    """What the paper says about a dataset (Tables 2, 7 and 8)."""

    train: int
    valid: int
    test: int
    entities: int
    relations: int
    unseen_entities: int
    """Entities of the test split without a fact in the training split."""
    unseen_objects: int
    """Test facts whose object is unseen."""
    unseen_subjects: int
    """Test facts whose subject is unseen."""
    unseen_both: int
    """Test facts whose subject and object are unseen."""
    unseen_share: float
    """Test facts with an unseen entity, in percent."""


PUBLISHED_DATASETS = {
    "ICEWS14": PublishedDataset(63685, 13823, 13222, 7128, 230, 496, 438, 497, 73, 6.52),
    "ICEWS18": PublishedDataset(373018, 45995, 49545, 23033, 256, 1140, 975, 1050, 77, 3.93),
    "WIKI": PublishedDataset(539286, 67538, 63110, 12554, 24, 2968, 11086, 22967, 6974, 42.91),
    "YAGO": PublishedDataset(161540, 19523, 20026, 10623, 10, 540, 1102, 873, 366, 8.03),
}

SIZES = {"renet": (5.459, 4.370), "cygnet": (8.568, 8.554), "xerte": (2.927, 225.895), "titer": (1.455, 0.225)}
"""Table 3: parameters and multiply-adds, in millions. The paper does not name the dataset; the sizes fit ICEWS14."""


def _metrics(*values: float) -> dict[str, float]:
    return dict(zip(METRICS, values, strict=True))


ABLATIONS = {
    "neither": _metrics(29.13, 20.73, 32.74, 45.04),
    "no-weights": _metrics(29.25, 20.84, 32.83, 45.06),
    "no-shaping": _metrics(29.17, 21.00, 32.72, 44.51),
    "": _metrics(29.98, 22.05, 33.46, 44.83),
}
"""Table 5, on ICEWS18: without weighted action scoring, without reward shaping, without both, and the full model."""

INDUCTIVE_GAIN = {
    "ICEWS14": _metrics(0.41, 0.46, 0.81, 0.01),
    "WIKI": _metrics(1.52, 1.15, 2.15, 1.90),
}
"""Table 6: what the inductive mean adds on the queries with an unseen entity."""

TIME_GAIN = {"ICEWS18": 13.19, "WIKI": 18.51}
"""Section 4.4, about Figure 5: Hits@1 of the temporal model relative to the static one, in percent more."""

ROBUSTNESS = {
    "ICEWS14": _metrics(41.75, 32.75, 46.46, 58.44),
    "ICEWS18": _metrics(29.98, 22.05, 33.46, 44.83),
    "WIKI": _metrics(75.50, 72.96, 77.46, 79.02),
    "YAGO": _metrics(87.47, 84.89, 89.96, 90.27),
}
"""Table 9: means over five seeds. Three of them differ from Table 1 in the last digits."""
ROBUSTNESS_DEVIATION = {
    "ICEWS14": _metrics(0.21, 0.12, 0.09, 0.05),
    "ICEWS18": _metrics(0.15, 0.07, 0.06, 0.03),
    "WIKI": _metrics(0.22, 0.18, 0.09, 0.04),
    "YAGO": _metrics(0.08, 0.07, 0.03, 0.04),
}
"""Table 9: standard deviations over five seeds."""


@dataclass(frozen=True)
class PublishedHop:
    """One fact of a path of the case study, in its own direction."""

    subject: str
    relation: str
    object: str
    time: str
    printed: str = ""
    """The relation that the paper prints, if it is another. The ids of both differ by one, and only facts that a path
    uses against their direction are affected: there the released code has one more id before the inverse relations."""


@dataclass(frozen=True)
class PublishedCase:
    """A test query of the case study on ICEWS18 (Table 4), with the path that the paper shows."""

    subject: str
    relation: str
    object: str
    time: str
    path: tuple[PublishedHop, ...]
    beta: float | None
    """β of the hop to the answer; the paper gives none for the path of two hops."""


_MILITARY, _CITIZEN, _REBEL = (f"{who} (Comoros)" for who in ("Military", "Citizen", "Armed Rebel"))
_GOVERNOR, _MEMBER, _IVORIAN = (f"{who} (Cote d'Ivoire)" for who in ("Governor", "Party Member", "Citizen"))
_POLICE, _INDIAN, _NIGERIA, _BUHARI = "Police (India)", "Citizen (India)", "Nigeria", "Muhammadu Buhari"
_FORCE, _APPEAL = "Use conventional military force", "Make an appeal or request"
_FIGHT, _VIOLENCE = "fight with small arms and light weapons", "Use unconventional violence"

CASES = (
    PublishedCase(_MILITARY, _FORCE, _CITIZEN, "2018-10-17",
                  (PublishedHop(_MILITARY, _FIGHT, _CITIZEN, "2018-10-16"),), 0.46),
    PublishedCase(_MILITARY, _FORCE, _REBEL, "2018-10-26",
                  (PublishedHop(_REBEL, _VIOLENCE, _MILITARY, "2018-10-19", "Investigate"),), 0.54),
    PublishedCase(_NIGERIA, "Consult", _BUHARI, "2018-10-04",
                  (PublishedHop(_BUHARI, "Make statement", _NIGERIA, "2018-10-01", _APPEAL),), 0.96),
    PublishedCase(_POLICE, "Physically assault", _INDIAN, "2018-10-08",
                  (PublishedHop(_POLICE, "Investigate", _INDIAN, "2018-10-06"),), 0.96),
    PublishedCase(_GOVERNOR, _APPEAL, _IVORIAN, "2018-10-14",
                  (PublishedHop(_GOVERNOR, "Praise or endorse", _MEMBER, "2018-10-12"),
                   PublishedHop(_MEMBER, _APPEAL, _IVORIAN, "2018-09-29")), None),
)  # fmt: skip
"""Table 4."""
