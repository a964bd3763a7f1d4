"""The main table of the TITer paper, for comparison.

Source: Sun, Zhong, Ma, Han and He, "TimeTraveler: Reinforcement Learning for Temporal Knowledge Graph Forecasting",
EMNLP 2021, Table 1. Models have their names in this package, in the order of the table.
"""

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
