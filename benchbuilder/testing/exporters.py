"""The contract of exporters."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from benchbuilder.exporters import Exporter, FinishedBuild
from benchbuilder.testing.contract import in_worker_process, require


def check_exporter(make: Callable[[], Exporter], finished: FinishedBuild) -> dict[str, bytes]:
    """Check an exporter: a build gives the same files, byte for byte, in any folder and process.

    Args:
        make: Makes a new exporter.
        finished: An example build.

    Returns:
        The content of each file by its name; the exporter returns the paths of all of them.

    Raises:
        ContractError: The exporter breaks a promise.
    """
    who = f"the exporter {make().kind!r}"
    require(make().can_write(finished), f"{who} lacks something that the example build does not have")
    first, second = _exported_files(make(), finished), _exported_files(make(), finished)
    require(bool(first), f"{who} writes nothing")
    require(set(first) == set(second), f"{who} writes other files when run again")
    third = in_worker_process(_exported_files, make(), finished)
    for name, data in first.items():
        require(second[name] == data, f"{who} writes {name} differently when run again")
        require(third.get(name) == data, f"{who} writes {name} differently in another process")
    return first


def _exported_files(exporter: Exporter, finished: FinishedBuild) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        named = exporter.write(finished, folder)
        written = {path for path in folder.rglob("*") if path.is_file()}
        names, files = sorted(map(str, named)), sorted(map(str, written))
        require(names == files, f"the exporter returns {names} and writes {files}")
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in written}
