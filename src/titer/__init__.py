"""Forecast what happens next in a temporal knowledge graph, and see why.

Everything a user needs is imported from here. A name is loaded from its module when it is first used, so that
``titer --help`` does not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from titer.openmp import limit_spinning
from titer.version import __version__ as __version__

limit_spinning()  # before torch is imported

# Type checkers read this block; at run time only the table below is used. tests/test_surface.py compares the two.
if TYPE_CHECKING:
    from titer.api import evaluate as evaluate
    from titer.api import train as train
    from titer.data.attributes import Attributes as Attributes
    from titer.data.dataset import Dataset as Dataset
    from titer.data.detection.proposal import Proposal as Proposal
    from titer.data.detection.proposal import ProposalError as ProposalError
    from titer.data.facts import Facts as Facts
    from titer.data.importing import import_dataset as import_dataset
    from titer.data.load import load_dataset as load_dataset
    from titer.data.readers.options import TableOptions as TableOptions
    from titer.data.readers.rejections import Problem as Problem
    from titer.data.time_axis import TimeAxis as TimeAxis
    from titer.data.time_unit import TimeUnit as TimeUnit
    from titer.data.vocabulary import Vocabulary as Vocabulary
    from titer.errors import ConfigError as ConfigError
    from titer.errors import DataError as DataError
    from titer.errors import MissingPackageError as MissingPackageError
    from titer.errors import NoEvidenceError as NoEvidenceError
    from titer.errors import PluginError as PluginError
    from titer.errors import RunError as RunError
    from titer.errors import StoreError as StoreError
    from titer.errors import TiterError as TiterError
    from titer.errors import UnknownFactError as UnknownFactError
    from titer.errors import UnknownNameError as UnknownNameError
    from titer.evaluation.calibration import CalibrationBin as CalibrationBin
    from titer.evaluation.calibration import Confidence as Confidence
    from titer.evaluation.metrics import Metrics as Metrics
    from titer.evaluation.protocol import Past as Past
    from titer.evaluation.protocol import Protocol as Protocol
    from titer.evaluation.protocol import Ties as Ties
    from titer.evaluation.protocol import Unreachable as Unreachable
    from titer.evaluation.ranks import Ranks as Ranks
    from titer.evaluation.result import Evaluation as Evaluation
    from titer.events.metrics import EventBin as EventBin
    from titer.forecasting.events.results import EventForecast as EventForecast
    from titer.forecasting.events.results import Likelihood as Likelihood
    from titer.forecasting.events.results import LikelyEvent as LikelyEvent
    from titer.forecasting.events.results import Quantile as Quantile
    from titer.forecasting.events.results import SurvivalStep as SurvivalStep
    from titer.forecasting.events.results import WhenForecast as WhenForecast
    from titer.forecasting.fact_input import FactInput as FactInput
    from titer.forecasting.forecast import Answer as Answer
    from titer.forecasting.forecast import Forecast as Forecast
    from titer.forecasting.forecast import PastFact as PastFact
    from titer.forecasting.forecast import Reason as Reason
    from titer.forecasting.forecast import Unanswered as Unanswered
    from titer.forecasting.forecaster import Forecaster as Forecaster
    from titer.forecasting.names import NameIndex as NameIndex
    from titer.forecasting.picture import Picture as Picture
    from titer.forecasting.question import Question as Question
    from titer.forecasting.tables import record_batches as record_batches
    from titer.forecasting.tables import to_table as to_table
    from titer.forecasting.track_record import CheckedEvent as CheckedEvent
    from titer.forecasting.track_record import CheckedForecast as CheckedForecast
    from titer.forecasting.what_if import Move as Move
    from titer.forecasting.what_if import WhatIf as WhatIf
    from titer.graph.edges import AllEdges as AllEdges
    from titer.graph.edges import Edges as Edges
    from titer.graph.filters import Filter as Filter
    from titer.graph.history import History as History
    from titer.graph.queries import Queries as Queries
    from titer.models.base import Model as Model
    from titer.models.base import StepResult as StepResult
    from titer.models.evidence import Edge as Edge
    from titer.models.evidence import Evidence as Evidence
    from titer.models.registry import register as register
    from titer.models.scores import DenseScores as DenseScores
    from titer.models.scores import ScoreBlock as ScoreBlock
    from titer.models.scores import Scores as Scores
    from titer.models.search_space import Categorical as Categorical
    from titer.models.search_space import FloatRange as FloatRange
    from titer.models.search_space import IntRange as IntRange
    from titer.runs.run import Run as Run
    from titer.store.adding import BadFactsError as BadFactsError
    from titer.store.adding import add_records as add_records
    from titer.store.facts import FactStore as FactStore
    from titer.store.named import Added as Added
    from titer.store.named import NamedFact as NamedFact
    from titer.store.named import Removed as Removed
    from titer.store.named import StoreChange as StoreChange
    from titer.store.named import StoredFact as StoredFact
    from titer.store.named import StoreUpdate as StoreUpdate
    from titer.trackers.base import StopTraining as StopTraining
    from titer.trackers.base import TrackedTraining as TrackedTraining
    from titer.trackers.base import Tracker as Tracker
    from titer.training.config import Config as Config
    from titer.training.config import TrainingConfig as TrainingConfig

_PUBLIC = {
    "titer.data.load": ["load_dataset"],
    "titer.data.importing": ["import_dataset"],
    "titer.data.dataset": ["Dataset"],
    "titer.data.attributes": ["Attributes"],
    "titer.data.readers.options": ["TableOptions"],
    "titer.data.detection.proposal": ["Proposal", "ProposalError"],
    "titer.data.facts": ["Facts"],
    "titer.data.vocabulary": ["Vocabulary"],
    "titer.data.time_axis": ["TimeAxis"],
    "titer.data.time_unit": ["TimeUnit"],
    "titer.api": ["train", "evaluate"],
    "titer.training.config": ["Config", "TrainingConfig"],
    "titer.trackers.base": ["Tracker", "TrackedTraining", "StopTraining"],
    "titer.runs.run": ["Run"],
    "titer.evaluation.result": ["Evaluation"],
    "titer.evaluation.metrics": ["Metrics"],
    "titer.evaluation.ranks": ["Ranks"],
    "titer.evaluation.calibration": ["Confidence", "CalibrationBin"],
    "titer.evaluation.protocol": ["Protocol", "Ties", "Unreachable", "Past"],
    "titer.graph.filters": ["Filter"],
    "titer.forecasting.forecaster": ["Forecaster"],
    "titer.forecasting.question": ["Question"],
    "titer.forecasting.forecast": ["Forecast", "Answer", "Reason", "PastFact", "Unanswered"],
    "titer.forecasting.events.results": [
        "EventForecast",
        "LikelyEvent",
        "Likelihood",
        "WhenForecast",
        "SurvivalStep",
        "Quantile",
    ],
    "titer.forecasting.track_record": ["CheckedForecast", "CheckedEvent"],
    "titer.events.metrics": ["EventBin"],
    "titer.forecasting.picture": ["Picture"],
    "titer.forecasting.names": ["NameIndex"],
    "titer.forecasting.what_if": ["WhatIf", "Move"],
    "titer.forecasting.fact_input": ["FactInput"],
    "titer.forecasting.tables": ["to_table", "record_batches"],
    "titer.store.facts": ["FactStore"],
    "titer.store.named": ["Added", "Removed", "NamedFact", "StoreChange", "StoredFact", "StoreUpdate"],
    "titer.store.adding": ["add_records", "BadFactsError"],
    "titer.data.readers.rejections": ["Problem"],
    "titer.models.base": ["Model", "StepResult"],
    "titer.models.scores": ["Scores", "ScoreBlock", "DenseScores"],
    "titer.models.search_space": ["Categorical", "IntRange", "FloatRange"],
    "titer.models.evidence": ["Evidence", "Edge"],
    "titer.models.registry": ["register"],
    "titer.graph.history": ["History"],
    "titer.graph.edges": ["Edges", "AllEdges"],
    "titer.graph.queries": ["Queries"],
    "titer.errors": [
        "TiterError",
        "ConfigError",
        "DataError",
        "MissingPackageError",
        "NoEvidenceError",
        "PluginError",
        "RunError",
        "StoreError",
        "UnknownFactError",
        "UnknownNameError",
    ],
}
"""Module to its public names, in the order in which a user meets them: the one list at run time."""

_MODULES = {name: module for module, names in _PUBLIC.items() for name in names}

# Type checkers support only literal lists here. The imports above are for them.
__all__ = [*_MODULES, "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'titer' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
