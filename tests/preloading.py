"""Import what commands of titer use, so that processes forked afterwards need not."""

import gc
import pkgutil
from contextlib import suppress
from importlib import import_module

import titer

LIBRARIES = (
    *("pyarrow.compute", "pyarrow.csv", "pyarrow.dataset", "pyarrow.parquet"),
    *("sqlalchemy.dialects.postgresql.psycopg", "sqlalchemy.dialects.sqlite"),
    *("optuna.importance", "sklearn.ensemble", "torch.utils.tensorboard"),
)
"""Libraries that commands import where they use them, and that need not be installed."""
EXCLUDED = "titer.ray", "titer.evaluation.size"
"""Modules that import Ray or Triton."""


def import_everything() -> None:
    """Import nearly all modules of titer, and compute nothing."""
    for _, name, _ in pkgutil.walk_packages(titer.__path__, "titer."):
        if not name.startswith(EXCLUDED) and not name.endswith(("_triton", "__main__")):
            import_module(name)
    for name in LIBRARIES:
        with suppress(ImportError):
            import_module(name)
    # Objects that the garbage collector does not visit are not copied by forked processes.
    gc.collect()
    gc.freeze()
