"""Explains errors of the operating system: a full disk, a quota, too many open files."""

from __future__ import annotations

import errno

from benchbuilder.core import StoreError

_KEPT = "committed steps, paid replies and votes are kept"
_ROOM = f"make room there and give the same command again; {_KEPT}"
_FILES = f"allow more open files, for instance with `ulimit -n 4096`, and give the same command again; {_KEPT}"
_EXPLAINED = {
    errno.ENOSPC: ("the disk is full", _ROOM),
    errno.EDQUOT: ("your quota of the disk is used up", _ROOM),
    errno.EFBIG: ("a file would be larger than the system allows", f"raise the limit (`ulimit -f`); {_KEPT}"),
    errno.EMFILE: ("this program has too many files open", _FILES),
    errno.ENFILE: ("the system has too many files open", _FILES),
}


def explain_system_error(error: OSError) -> StoreError:
    """The error to show: what the system refused, at which file, why, and what to do."""
    default = ("the system refused", f"check disk space and permissions; {_KEPT}")
    what, next_step = _EXPLAINED.get(error.errno or 0, default)
    files = [str(name) for name in (error.filename, error.filename2) if name is not None]
    return StoreError(what, where=" -> ".join(files), why=error.strerror or str(error), next=next_step)
