"""A trained model with all facts known now: those of its dataset, and those added to its fact store."""

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from titer.data.dataset import Dataset
from titer.data.vocabulary import Vocabulary
from titer.errors import TiterError
from titer.forecasting.names import NameIndex
from titer.forecasting.predictor import Predictor
from titer.graph.history import History
from titer.graph.stored_history import history_of
from titer.models.base import Model
from titer.runs.horizons import horizons_of
from titer.runs.run import Run

if TYPE_CHECKING:
    from titer.store.facts import FactStore
    from titer.store.live import LiveHistory


class LiveModel:
    """A trained model with all known facts. This process and others may add facts.

    Attributes:
        model: The trained model.
        dataset: The dataset that the model was trained on.
        axis: The calendar of the dataset's time steps.
        run: The run directory that the model was loaded from, or None.
    """

    def __init__(self, model: Model, dataset: Dataset, store: str | Path | None = None, *, run: Run | None = None):
        self.model = model
        self.dataset = dataset
        self.axis = dataset.axis
        self.run = run
        self._address = store
        self._lock = Lock()
        self._store: FactStore | None = None
        self._live: LiveHistory | None = None
        history = history_of(dataset).to(model.device)
        horizons = horizons_of(run.summary) if run is not None and run.is_finished else ()
        self._predictor = Predictor.create(model, dataset.axis, history, dataset, horizons)
        self.refresh()

    @classmethod
    def load(cls, run: Run | Path | str, device: str = "auto", store: str | Path | None = None) -> Self:
        """Load the model of a run directory, with its dataset and the facts added to it.

        Args:
            run: The run directory.
            device: ``"cpu"``, ``"cuda"``, or ``"auto"`` for a GPU if there is one.
            store: Database of added facts: the path of an SQLite file, or the URL of a database. None for the
                database in the run directory.

        Returns:
            A forecaster with all facts stored so far.

        Raises:
            RunError: The directory is not a run, or is incomplete.
            StoreError: The database cannot be used.
        """
        run = run if isinstance(run, Run) else Run(run)
        return cls(run.load_model(device), run.dataset, store or run.store_path, run=run)

    def __repr__(self) -> str:
        place = f", {self.run.path}" if self.run is not None else ""
        last = self.axis.label(self.last_time)
        entities = f"{self.vocabulary.num_entities:,} entities"
        return (
            f"<{type(self).__name__}: {self.model.name} on {self.dataset.name}, {entities}, facts up to {last}{place}>"
        )

    @property
    def store_address(self) -> str | Path | None:
        """Where the database of added facts is, or will be created; None without one."""
        return self._address

    @property
    def fact_store(self) -> "FactStore":
        """The database of added facts, created when first used.

        Raises:
            StoreError: The database cannot be used.
            TiterError: The forecaster was created without a store.
        """
        if self._store is not None:
            return self._store
        with self._lock:
            return self._open_store()

    def refresh(self) -> None:
        """Take in the facts that were added since the last call. Every question does this first.

        Raises:
            StoreError: The database of added facts cannot be used.
        """
        self._current()

    def _current(self) -> Predictor:
        """Return the model with all facts that are stored now. Facts that are added later do not change it."""
        with self._lock:
            if self._live is None:
                if self._address is None or not (self._store or _may_exist(self._address)):
                    return self._predictor  # no fact has been added yet
                from titer.store.live import LiveHistory

                self._live = LiveHistory(self._open_store(), self._predictor.history)
            if (history := self._live.current()) is not self._predictor.history:
                self._predictor = self._predictor.on(history)
            return self._predictor

    def _open_store(self) -> "FactStore":
        """Open the store; the caller holds the lock."""
        if self._store is None:
            if self._address is None:
                raise TiterError("this forecaster has no fact store; pass store= when it is created")
            from titer.store.facts import FactStore

            self._store = FactStore(self._address, self.dataset)
        return self._store

    def close(self) -> None:
        """Close the connections to the database of added facts."""
        if self._store is not None:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def facts_version(self) -> tuple[int, int, str]:
        """What identifies the facts in the store, as of the last ``refresh``.

        These are the number of facts ever added, the number of removals, and a checksum of the facts.
        """
        return self._live.version if self._live is not None else (0, 0, "")

    @property
    def history(self) -> History:
        """The known facts, as of the last ``refresh``."""
        return self._predictor.history

    @property
    def vocabulary(self) -> Vocabulary:
        """The known names, as of the last ``refresh``."""
        return self._predictor.vocabulary

    @property
    def entities(self) -> NameIndex:
        """The entities by name, as of the last ``refresh``."""
        return self._predictor.entities

    @property
    def relations(self) -> NameIndex:
        """The relations by name."""
        return self._predictor.relations

    @property
    def last_time(self) -> int:
        """The time step of the last known fact, as of the last ``refresh``."""
        return self._predictor.last_time


def _may_exist(address: str | Path) -> bool:
    """Return whether a database may exist; a file that does not exist is not created before facts are added."""
    return not isinstance(address, Path) or address.exists()
