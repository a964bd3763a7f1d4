"""titer: forecasts what happens next in a temporal knowledge graph, and shows why.

The names below are the public surface. They are imported when first used, so that
``titer --help`` does not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from titer.data.dataset import Dataset
    from titer.data.facts import Facts
    from titer.data.load import load_dataset
    from titer.data.time_axis import TimeAxis, TimeUnit
    from titer.data.vocabulary import Vocabulary
    from titer.errors import TiterError
    from titer.evaluation.evaluate import Evaluation, evaluate
    from titer.evaluation.protocol import Protocol
    from titer.forecasting.forecaster import Forecaster
    from titer.forecasting.question import Question
    from titer.graph.history import History
    from titer.graph.queries import Queries
    from titer.models.base import Model
    from titer.models.evidence import Evidence
    from titer.models.registry import register
    from titer.runs.run import Run
    from titer.runs.train import train

__version__ = "0.1.0"

_HOME = {
    "Dataset": "titer.data.dataset",
    "Evaluation": "titer.evaluation.evaluate",
    "Evidence": "titer.models.evidence",
    "Facts": "titer.data.facts",
    "Forecaster": "titer.forecasting.forecaster",
    "History": "titer.graph.history",
    "Model": "titer.models.base",
    "Protocol": "titer.evaluation.protocol",
    "Queries": "titer.graph.queries",
    "Question": "titer.forecasting.question",
    "Run": "titer.runs.run",
    "TimeAxis": "titer.data.time_axis",
    "TimeUnit": "titer.data.time_axis",
    "TiterError": "titer.errors",
    "Vocabulary": "titer.data.vocabulary",
    "evaluate": "titer.evaluation.evaluate",
    "load_dataset": "titer.data.load",
    "register": "titer.models.registry",
    "train": "titer.runs.train",
}

__all__ = [  # noqa: RUF022 - in the order in which a newcomer meets them
    "load_dataset",
    "Dataset",
    "Facts",
    "Vocabulary",
    "TimeAxis",
    "TimeUnit",
    "History",
    "Model",
    "Queries",
    "Evidence",
    "register",
    "train",
    "Run",
    "evaluate",
    "Evaluation",
    "Protocol",
    "Forecaster",
    "Question",
    "TiterError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'titer' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
