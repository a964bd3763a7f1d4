"""What the worker processes share from the start: imported modules. Loaded once, in the process they are forked from.

No computation may run here, since threads of torch do not survive a fork.
"""

import gc

import titer.service.process  # noqa: F401  # pyright: ignore[reportUnusedImport] - loaded to be shared

# Objects that the garbage collector does not visit are not written to, so their pages stay shared.
gc.collect()
gc.freeze()
