"""The run that the service answers for."""

from typing import Any

from titer.forecasting.forecaster import Forecaster
from titer.runs.run import Run
from titer.store.adding import add_records
from titer.store.facts import Added


class Knowledge:
    """A run and its forecaster; safe to use from several threads."""

    def __init__(self, run: Run, *, store: str | None = None, device: str = "auto"):
        self.run = run
        self._forecaster = Forecaster.load(run, device, store)
        self.store = self._forecaster.fact_store

    def forecaster(self) -> Forecaster:
        """Return the forecaster with all facts that are stored by now."""
        self._forecaster.refresh()
        return self._forecaster

    def warm(self) -> None:
        """Run one dummy query to warm up."""
        self._forecaster.warm_up()

    def add(self, facts: list[dict[str, Any]], *, backfill: bool) -> Added:
        """Store facts; when this returns they are on disk, and the next question uses them."""
        return add_records(self.store, facts, backfill=backfill)

    def close(self) -> None:
        """Close the connections to the database."""
        self._forecaster.close()
