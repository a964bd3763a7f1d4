"""The figures of the TITer paper, for comparison.

Source: Sun, Zhong, Ma, Han and He, "TimeTraveler: Reinforcement Learning for Temporal Knowledge Graph Forecasting",
EMNLP 2021. Tables have the numbers of the paper. Models have their names in this package, in the order of the main
table.
"""

from dataclasses import dataclass
from itertools import product

METRICS = {"mrr": "MRR", "hits_at_1": "Hits@1", "hits_at_3": "Hits@3", "hits_at_10": "Hits@10"}
"""The metrics of the main table: key and title."""

DATASETS = ("ICEWS14", "ICEWS18", "WIKI", "YAGO")

# Table 1: every metric on every dataset, in the order of both, times a hundred; time-aware filter.
_MAIN_TABLE = """
ttranse         13.43  3.11 17.32 34.55    8.31  1.92  8.56 21.89   29.27 21.67 34.43 42.39   31.19 18.12 40.91 51.21
ta_distmult     26.47 17.09 30.22 45.41   16.75  8.61 18.41 33.59   44.53 39.92 48.73 51.71   54.92 48.15 59.61 66.71
de_simple       32.67 24.43 35.69 49.11   19.30 11.53 21.86 34.80   45.43 42.60 47.71 49.55   54.91 51.64 57.30 60.17
tntcomplex      32.12 23.35 36.03 49.13   27.54 19.52 30.80 42.86   45.03 40.04 49.31 52.03   57.98 52.92 61.33 66.69
cygnet          32.73 23.69 36.31 50.67   24.93 15.90 28.28 42.61   33.89 29.06 36.10 41.86   52.07 45.36 56.12 63.77
renet           38.28 28.68 41.34 54.52   28.81 19.05 32.44 47.51   49.66 46.88 51.19 53.48   58.02 53.06 61.08 66.29
xerte           40.79 32.70 45.67 57.30   29.31 21.03 33.51 46.48   71.14 68.05 76.11 79.01   84.19 80.09 88.02 89.78
tango_tucker        –     –     –     –   28.68 19.35 32.17 47.04   50.43 48.52 51.47 53.58   57.83 53.05 60.78 65.85
tango_distmult      –     –     –     –   26.75 17.92 30.08 44.09   51.15 49.66 52.16 53.35   62.70 59.18 60.31 67.90
titer           41.73 32.74 46.46 58.44   29.98 22.05 33.46 44.83   75.50 72.96 77.49 79.02   87.47 84.89 89.96 90.27
"""

_ROWS = [line.split() for line in _MAIN_TABLE.strip().splitlines()]
_FIGURES = {
    (model, dataset, metric): None if figure == "–" else float(figure)
    for model, *figures in _ROWS
    for (dataset, metric), figure in zip(product(DATASETS, METRICS), figures, strict=True)
}

MODELS = tuple(model for model, *_ in _ROWS)


def published(model: str, dataset: str, metric: str) -> float | None:
    """Return a figure of the main table times a hundred; None if the table has no such figure."""
    return _FIGURES.get((model, dataset, metric))


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
