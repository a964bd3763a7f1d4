"""What the service knows: a forecaster that is never behind the store of facts."""

from threading import Lock
from typing import Any

from titer.forecasting.forecaster import Forecaster
from titer.forecasting.question import Question
from titer.runs.run import Run
from titer.store.adding import add_records
from titer.store.facts import Added, FactStore
from titer.store.live import LiveHistory


class Knowledge:
    """The model of a run, its facts, and those that were added since; safe to use from several threads."""

    def __init__(self, run: Run, *, store: str | None = None, device: str = "auto"):
        self.run = run
        self.store = FactStore(store or run.store_path, run.dataset)
        self._forecaster = Forecaster(run.load_model(device), run.dataset)
        self._live = LiveHistory(self.store, self._forecaster.history)
        self._lock = Lock()

    def forecaster(self) -> Forecaster:
        """A forecaster that knows every fact which is stored by now."""
        with self._lock:
            history = self._live.current()
            if history is not self._forecaster.history:
                self._forecaster = self._forecaster.on(history)
            return self._forecaster

    def warm(self) -> None:
        """Answer a question that nobody asked."""
        forecaster = self.forecaster()
        known = forecaster.vocabulary
        list(forecaster.ask_many([Question(known.entities[0], known.relations[0])]))

    def add(self, facts: list[dict[str, Any]], *, backfill: bool) -> Added:
        """Store facts; when this returns they are on disk, and in force for the next question."""
        return add_records(self.store, facts, backfill=backfill)

    def close(self) -> None:
        """Let go of the database."""
        self.store.close()
