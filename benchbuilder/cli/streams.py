"""Makes the streams of the process ones that every command can print to."""

from __future__ import annotations

import io
import os
import sys


def complete_streams() -> None:
    """Replace closed standard streams (``>&-``) by the null device, and escape what a terminal cannot show.

    Otherwise the next file that is opened, perhaps a database, would get the number of the closed stream.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:  # the lowest number that is free
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        stream: object = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - open until the end
        elif isinstance(stream, io.TextIOWrapper):
            # Windows gives files and pipes its old code page, which has no Chinese
            redirected = sys.platform == "win32" and not stream.isatty() and "PYTHONIOENCODING" not in os.environ
            stream.reconfigure(encoding="utf-8" if redirected else None, errors="backslashreplace")
