"""What the answers of a run depend on."""

from pathlib import Path
from typing import Any

from titer.data.dataset import Dataset
from titer.files import sha256_of
from titer.runs.run import Run
from titer.training.layout import CONFIG, EVENTS, MODEL, SUMMARY


def fingerprint(run: Run, *, events: bool) -> dict[str, Any]:
    """Return checksums of everything in a run that answers depend on, but for added facts.

    Args:
        run: The run.
        events: Whether answers come from its event model too.

    Raises:
        RunError: The run has no weights, or is damaged.
    """
    names = [CONFIG, MODEL, SUMMARY, *([EVENTS] if events else [])]
    found = {name: sha256_of(run.path / name) for name in names if (run.path / name).is_file()}
    return {**found, "dataset": run.dataset.checksum}


def facts_version(store: str | Path, dataset: Dataset) -> tuple[int, int, str]:
    """Return what identifies the facts in a store: how many were ever added, the number of removals, and a checksum.

    Args:
        store: The database of added facts. A file that does not exist has none.
        dataset: The dataset that the facts belong to.

    Raises:
        StoreError: The database cannot be used.
    """
    if isinstance(store, Path) and not store.exists():
        return 0, 0, ""
    from titer.store.facts import FactStore
    from titer.store.named import facts_checksum

    with FactStore(store, dataset) as opened:
        found = opened.update()
        return found.last_sequence, found.num_removals, facts_checksum(found.facts)
