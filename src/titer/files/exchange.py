"""Replace a folder by another without a time at which there is none."""

import ctypes
import errno
import os
import shutil
import tempfile
from pathlib import Path

from titer.files.folders import flush
from titer.files.leftovers import OLD

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def replace_folder(new: Path, target: Path) -> None:
    """Put ``new`` in the place of ``target``, and remove the old folder when the new entry is on disk."""
    if not target.exists():
        new.rename(target)
        flush(target.parent)
    elif exchange(new, target):
        flush(target.parent)
        shutil.rmtree(new)
    else:
        # In two steps: ``restore_folder`` puts the old folder back if the process ends between them.
        old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=OLD, dir=target.parent))
        target.rename(old / target.name)
        new.rename(target)
        flush(target.parent)
        shutil.rmtree(old)


def exchange(first: Path, second: Path) -> bool:
    """Exchange two files or folders in one step; return False where the system has no such operation."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    if rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(second))


def restore_folder(target: Path) -> None:
    """Put a folder back that a killed process had moved away and not yet replaced."""
    if target.exists():
        return
    for old in target.parent.glob(f".{target.name}.*{OLD}"):
        if (old / target.name).is_dir():
            (old / target.name).rename(target)
            return
