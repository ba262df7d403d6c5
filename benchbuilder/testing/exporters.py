"""The contract of exporters."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from benchbuilder.exporters.base import Exporter, FinishedBuild
from benchbuilder.testing.contract import require
from benchbuilder.testing.processes import in_worker_process


def check_exporter(make: Callable[[], Exporter], finished: FinishedBuild) -> dict[str, bytes]:
    """The same build gives the same files, byte for byte, in any folder and process, and names all that it writes.

    Returns the files by their names.
    """
    who = f"the exporter {make().kind!r}"
    require(make().can_write(finished), f"{who} does not get what it needs from the example build")
    first, second = _exported_files(make(), finished), _exported_files(make(), finished)
    require(bool(first), f"{who} writes nothing")
    require(set(first) == set(second), f"{who} writes other files the second time")
    third = in_worker_process(_exported_files, make(), finished)
    for name, data in first.items():
        require(second[name] == data, f"{who} writes {name} otherwise the second time")
        require(third.get(name) == data, f"{who} writes {name} otherwise elsewhere")
    return first


def _exported_files(exporter: Exporter, finished: FinishedBuild) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        told = exporter.write(finished, folder)
        there = {path for path in folder.rglob("*") if path.is_file()}
        require(set(told) == there, f"it names {sorted(map(str, told))} and writes {sorted(map(str, there))}")
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in there}
