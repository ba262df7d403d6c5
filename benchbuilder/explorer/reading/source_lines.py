"""The lines of the files that a build read, as they stand there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from benchbuilder.core import open_given_file, read_json

_SUFFIXES = (".jsonl", ".ndjson", ".tsv", ".csv", ".txt", ".psv")
"""Files of which each unit is a line."""
_MOST_BYTES = 64_000_000
"""No more of a file is read to find a line."""
_LONGEST = 20_000


def source_lines(folder: Path, file: str, numbers: Iterable[int]) -> dict[int, str]:
    """The lines with these numbers, from 1, of a file that the build in `folder` read, under the name in its ledger.

    None if the file is not there any more, changed since, or has no lines; and none far behind its beginning.
    """
    wanted = {number for number in numbers if number > 0}
    path = _read_files(folder, _stamp(folder)).get(file) or _find(_read_files(folder, _stamp(folder)), file)
    if path is None or not wanted or not path.name.lower().endswith(_SUFFIXES):
        return {}
    lines: dict[int, str] = {}
    with suppress(OSError), open_given_file(path, most_bytes=None) as stream:
        read = 0
        for number, line in enumerate(islice(stream, max(wanted)), 1):
            read += len(line)
            if number in wanted:
                lines[number] = line[:_LONGEST].decode("utf-8", "replace").rstrip("\r\n")
            if read > _MOST_BYTES:
                break
    return lines


def _find(files: Mapping[str, Path], name: str) -> Path | None:
    """The file whose path ends with a name of the ledger; none if there are several."""
    found = [path for whole, path in files.items() if name and whole.endswith(f"/{name}")]
    return found[0] if len(found) == 1 else None


def _stamp(folder: Path) -> int:
    with suppress(OSError):
        return (folder / "store" / "checksums.json").stat().st_mtime_ns
    return 0


@lru_cache(maxsize=32)
def _read_files(folder: Path, _stamp: int) -> Mapping[str, Path]:
    """The files whose checksums the store remembers, if they have the size and time of then."""
    known: dict[str, Path] = {}
    with suppress(OSError, ValueError):
        data: Any = read_json(folder / "store" / "checksums.json")
        for name, entry in dict(data.get("files") or {}).items():
            with suppress(OSError):
                stat = Path(name).stat()
                if [stat.st_size, stat.st_mtime_ns] == list(entry[:2]):
                    known[name] = Path(name)
    return known
