"""Batch forecasts on a Ray cluster (``pip install 'titer[ray]'``).

``Predictor`` is a class for ``ray.data.Dataset.map_batches``. The commands ``titer forecast``, ``titer events``,
``titer likely`` and ``titer when`` run whole jobs with ``--engine ray``.
"""

from titer.ray.predictor import RayPredictor as Predictor

__all__ = ["Predictor"]
